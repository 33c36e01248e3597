//! Expired rows, deleted while a broker serves.

use std::sync::mpsc::channel;
use std::time::Duration;

use broker::Dependencies;
use broker::store::StoreUrl;
use broker::store::fail_points::{FailPoint, FailPoints};

use crate::scratch::Scratch;
use crate::test_broker::TestBroker;

fn logins(scratch: &Scratch) -> i64 {
    let file = rusqlite::Connection::open(scratch.file("broker.db")).unwrap();
    file.query_row("SELECT count(*) FROM logins", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_deletes_expired_rows_for_as_long_as_it_serves() {
    let scratch = Scratch::new();
    let (sender, committed) = channel();
    let dependencies = Dependencies {
        fail_points: FailPoints::new(move |point| {
            if point == FailPoint::AfterCommit {
                let _ = sender.send(());
            }
        }),
        sweep_every: Some(Duration::from_millis(1)),
        ..Dependencies::default()
    };
    let broker = TestBroker::start_in(dependencies, |config| {
        config.store.url = StoreUrl::SqliteFile(scratch.file("broker.db"));
    })
    .await;
    for key in [1, 2] {
        broker.session(key).await;
        assert_eq!(logins(&scratch), 1, "it is known for 1200 seconds");
        broker.advance_ms(1_200_000);
        while logins(&scratch) > 0 {
            let step = committed.recv_timeout(Duration::from_secs(20));
            step.expect("the sweeper runs without requests");
        }
    }
}
