//! Several brokers on one database, for the steps that only one may take at a time, and a
//! PostgreSQL server that is killed.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use async_trait::async_trait;
use broker::store::Store;
use broker::store::fail_points::{FailPoint, FailPoints};
use rocket::futures::future::join_all;
use testkit::postgres::{Durability, Server};

use super::acknowledged;
use super::postgres::Schema;
use super::test_store::{Engine, TestStore};

// Threats: L3.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn while_one_broker_sweeps_another_deletes_nothing() {
    let store = TestStore::on(Schema::new()).await;
    store.open(1).await;
    store.at_ms(1_200_000);
    let (sender, before_commit) = channel();
    let (commit, permission) = channel();
    let permission = Mutex::new(permission);
    let fail_points = FailPoints::new(move |point| {
        if point == FailPoint::BeforeCommit {
            sender.send(()).unwrap();
            permission.lock().unwrap().recv().unwrap();
        }
    });
    let (sweeper, now) = (store.engine.open_with(fail_points).await, store.now());
    let sweeping = tokio::spawn(async move { sweeper.sweep(now).await });
    let timeout = Duration::from_secs(20);
    before_commit.recv_timeout(timeout).unwrap();
    let other = store.inner.sweep(now).await;
    commit.send(()).unwrap();
    assert_eq!(other.unwrap(), 0, "it neither deletes nor waits");
    assert_eq!(sweeping.await.unwrap().unwrap(), 1);
    assert_eq!(store.rows("logins").await, 0);
    assert_eq!(store.sweep().await, 0, "the lock is released");
}

// Threats: L3.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn brokers_that_start_at_once_on_an_empty_database_create_its_tables_once() {
    for _ in 0..10 {
        let schema = Schema::created().await;
        let url = schema.url().parse().unwrap();
        let open = |_| broker::store::open(&url, FailPoints::NONE).unwrap();
        let brokers: Vec<_> = (0..3).map(open).collect();
        for ready in join_all(brokers.iter().map(|broker| broker.ready())).await {
            ready.unwrap();
        }
        let versions = schema.count("SELECT count(*) FROM broker_schema").await;
        assert_eq!(versions, 1);
    }
}

/// The database `postgres` of a server.
struct Database(String);

#[async_trait]
impl Engine for Database {
    async fn open_with(&self, fail_points: FailPoints) -> Store {
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
