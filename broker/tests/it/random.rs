//! The broker's random values: unique and uniform.

use std::collections::HashSet;

use broker::random::bytes32;
use contract::HandoffCode;

const DRAWS: usize = 100_000;

// Threats: A11.
#[test]
fn a_hundred_thousand_random_values_differ_and_are_uniform() {
    let drawn: HashSet<_> = (0..DRAWS)
        .map(|_| HandoffCode::from_random(&bytes32()).expose().to_owned())
        .collect();
    assert_eq!(drawn.len(), DRAWS);

    let mut counts = [[0_u32; 128]; 43];
    for text in &drawn {
        for (position, byte) in text.bytes().enumerate() {
            counts[position][usize::from(byte)] += 1;
        }
    }
    for (position, counts) in counts.iter().enumerate() {
        // 43 characters of six bits have room for two more than 256.
        check_is_even(counts, if position == 42 { 16 } else { 64 });
    }
}

/// Pearson's chi-squared test, with a limit ten standard deviations from the mean, which
/// uniform values do not reach.
#[track_caller]
fn check_is_even(counts: &[u32], letters: u32) {
    let seen = counts.iter().filter(|count| **count > 0);
    assert_eq!(seen.count(), letters as usize);
    let expected = f64::from(u32::try_from(DRAWS).unwrap()) / f64::from(letters);
    let off = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
    let statistic: f64 = counts.iter().filter(|count| **count > 0).map(off).sum();
    let freedom = f64::from(letters - 1);
    let limit = freedom + 10.0 * (2.0 * freedom).sqrt();
    assert!(statistic < limit, "{statistic} of {limit}");
}
