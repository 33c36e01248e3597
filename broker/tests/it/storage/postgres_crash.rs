//! A PostgreSQL server that is killed, and loses each commit that it has not written to
//! its log.

use std::sync::Arc;

use async_trait::async_trait;
use broker::store::Store;
use broker::store::fail_points::FailPoints;
use testkit::postgres::{Durability, Server};

use super::acknowledged;
use super::test_store::{Engine, TestStore};

/// The database `postgres` of a server.
struct Database(String);

#[async_trait]
impl Engine for Database {
    async fn open_with(&self, fail_points: FailPoints) -> Arc<dyn Store> {
        broker::store::open(&self.0.parse().unwrap(), fail_points).unwrap()
    }

    async fn count(&self, _: &str) -> i64 {
        unreachable!("this test counts nothing")
    }
}

/// The settings of this server let it acknowledge a commit ten seconds before it is
/// written, unless a session insists on durability.
// Threats: L8.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_step_is_stored_after_the_server_was_killed() {
    let lazy = ["synchronous_commit=off", "wal_writer_delay=10s"];
    let mut server = Server::start_with(Durability::Durable, &lazy).unwrap();
    let before = TestStore::on(Database(server.url("postgres"))).await;
    acknowledged::take_every_step(&before).await;
    server.kill().unwrap();
    server.start_again().unwrap();
    acknowledged::assert_every_step_is_stored(
        &TestStore::on(Database(server.url("postgres"))).await,
    )
    .await;
}
