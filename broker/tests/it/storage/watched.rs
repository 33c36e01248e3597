//! The points of a step, as whoever watches hears of them.

use std::sync::{Arc, Mutex};

use broker::model::login_session::LoginOutcome;
use broker::store::Store;
use broker::store::fail_points::{FailPoint, FailPoints};

use super::bench::{Bench, Read, ask};
use crate::users::ada;

/// A watched store on the database of `bench`, and what is heard of it.
async fn watch(bench: &Bench) -> (Arc<dyn Store>, Arc<Mutex<Vec<FailPoint>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let fail_points = FailPoints::new(move |point| ears.lock().unwrap().push(point));
    (bench.engine.open_watched(fail_points).await, heard)
}

pub(super) async fn a_read_passes_its_points_in_order(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    let (store, heard) = watch(&bench).await;
    let taken = store.consume_result(ask(1), bench.now()).await.unwrap();
    assert_eq!(
        Read::from(taken),
        Read::Outcome(LoginOutcome::Succeeded(ada()))
    );
    assert_eq!(
        *heard.lock().unwrap(),
        [
            FailPoint::AfterRead,
            FailPoint::BeforeCommit,
            FailPoint::AfterCommit
        ]
    );
}

pub(super) async fn every_step_tells_that_it_is_committed(bench: Bench) {
    let (store, heard) = watch(&bench).await;
    store
        .revoke(contract::Digest::of(b"nobody's"))
        .await
        .unwrap();
    assert_eq!(heard.lock().unwrap().last(), Some(&FailPoint::AfterCommit));
}
