//! The clock of a broker.

#[test]
fn a_clock_advances_in_all_of_its_clones_and_never_goes_back() {
    let clock = broker::clock::Clock::system();
    let before = clock.now();
    clock
        .clone()
        .advance(std::time::Duration::from_millis(600_000));
    assert!(clock.now() >= before.plus_ms(600_000));
    assert_eq!(clock.advanced_ms(), 600_000);
    clock.advance(std::time::Duration::MAX);
    let end = clock.now();
    assert!(clock.now() >= end);
}
