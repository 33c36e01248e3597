//! A PostgreSQL server that dies. Its memory is lost with it, and with that each
//! commit which it had not written to its log yet.

use std::sync::Arc;

use async_trait::async_trait;
use broker::store::Store;
use broker::store::fail_points::FailPoints;
use testkit::postgres::{Durability, Server};

use super::acknowledged;
use super::bench::{Bench, Engine};

/// The database `postgres` of a server.
struct Database(String);

#[async_trait]
impl Engine for Database {
    async fn open_watched(&self, fail_points: FailPoints) -> Arc<dyn Store> {
        broker::store::open(&self.0.parse().unwrap(), fail_points).unwrap()
    }

    async fn count(&self, _: &str) -> i64 {
        unreachable!("these tests count nothing")
    }
}

/// By default this server acknowledges a commit at once, and writes it within ten
/// seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_was_acknowledged_is_there_after_the_server_died() {
    let lazy = ["synchronous_commit=off", "wal_writer_delay=10s"];
    let mut server = Server::start_with(Durability::Durable, &lazy).unwrap();
    let before = Bench::on(Database(server.url("postgres"))).await;
    acknowledged::happens(&before).await;
    server.kill().unwrap();
    server.start_again().unwrap();
    acknowledged::is_there(&Bench::on(Database(server.url("postgres"))).await).await;
}
