//! Several brokers on one database, where only one may do something at a time.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use broker::store::fail_points::{FailPoint, FailPoints};
use rocket::futures::future::join_all;

use super::bench::{Bench, Engine as _};
use super::postgres::Schema;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn while_one_broker_sweeps_another_leaves_the_rows_to_it() {
    let bench = Bench::on(Schema::new()).await;
    bench.open(1).await;
    bench.at_ms(1_200_000);
    let (sender, before_commit) = channel();
    let (commit, permission) = channel();
    let permission = Mutex::new(permission);
    let fail_points = FailPoints::new(move |point| {
        if point == FailPoint::BeforeCommit {
            sender.send(()).unwrap();
            permission.lock().unwrap().recv().unwrap();
        }
    });
    let (one, now) = (bench.engine.open_watched(fail_points).await, bench.now());
    let sweeping = tokio::spawn(async move { one.sweep(now).await });
    let patience = Duration::from_secs(20);
    before_commit.recv_timeout(patience).unwrap();
    let other = bench.store.sweep(now).await;
    commit.send(()).unwrap();
    assert_eq!(other.unwrap(), 0, "it neither deletes nor waits");
    assert_eq!(sweeping.await.unwrap().unwrap(), 1);
    assert_eq!(bench.rows("logins").await, 0);
    assert_eq!(bench.sweep().await, 0, "the lock is released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn brokers_that_start_at_once_on_an_empty_database_make_its_tables_once() {
    for _ in 0..10 {
        let schema = Schema::made().await;
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
