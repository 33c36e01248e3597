//! Trips: spent once.

use broker::store::Spent;

use super::bench::{Bench, trip};

pub(super) async fn a_trip_is_spent_once(bench: Bench) {
    let trip = trip(1, bench.now().plus_ms(600_000));
    assert_eq!(bench.spend(&trip).await, Spent::Now);
    assert_eq!(bench.spend(&trip).await, Spent::Before);
    assert_eq!(bench.spend(&trip).await, Spent::Before);
}

pub(super) async fn two_trips_are_spent_independently(bench: Bench) {
    let ends = bench.now().plus_ms(600_000);
    assert_eq!(bench.spend(&trip(1, ends)).await, Spent::Now);
    assert_eq!(bench.spend(&trip(2, ends)).await, Spent::Now);
    assert_eq!(bench.spend(&trip(1, ends)).await, Spent::Before);
}

pub(super) async fn a_trip_that_comes_back_at_its_end_is_still_remembered(bench: Bench) {
    let trip = trip(1, bench.now().plus_ms(600_000));
    bench.spend(&trip).await;
    bench.at_ms(599_999);
    bench.sweep().await;
    assert_eq!(bench.spend(&trip).await, Spent::Before);
}
