//! A fuzz target can fail, and shows the failing input.

use std::cell::Cell;
use std::panic::catch_unwind;

fn seeds() -> Vec<Vec<u8>> {
    vec![b"one=1".to_vec(), b"two=2&three=3".to_vec()]
}

#[test]
fn a_target_gets_each_seed_as_it_is_and_then_mutated_ones() {
    let seen = Cell::new(0);
    let outcomes = testkit::fuzz::run("all", &seeds(), |bytes| {
        seen.set(seen.get() + 1);
        if seen.get() <= 2 {
            assert_eq!(bytes, seeds()[seen.get() - 1]);
        }
        Some(bytes.contains(&b'='))
    });
    let all = u64::from(testkit::fuzz::cases(testkit::fuzz::DEFAULT_CASES)) + 2;
    assert_eq!(outcomes.cases(), all);
    assert!(outcomes.of(&false) > all / 100, "{outcomes}");
    assert!(outcomes.of(&true) > all / 2, "{outcomes}");
}

#[test]
fn a_failing_input_is_shown_small_and_as_a_literal() {
    let broken = catch_unwind(|| {
        testkit::fuzz::run("careful", &seeds(), |bytes| {
            assert!(!bytes.contains(&0xff), "an octet that is no text");
            Some(())
        })
    });
    let message = broken.expect_err("0xff is among what is put in");
    let message = message.downcast_ref::<String>().expect("a sentence");
    let names = ["careful: ", "an octet that is no text", "b\"", "\\xff"];
    assert!(names.iter().all(|part| message.contains(part)), "{message}");
    assert!(message.len() < 400, "{message}");
}

#[test]
fn a_target_without_seeds_is_no_target() {
    let broken = catch_unwind(|| testkit::fuzz::Corpus::at("corpus").seeds("nothing"));
    assert!(broken.is_err());
}

#[test]
fn an_input_that_does_not_reach_what_is_tested_is_no_case() {
    let outcomes = testkit::fuzz::run("some", &seeds(), |bytes| {
        bytes.len().is_multiple_of(2).then_some(())
    });
    let mutated = u64::from(testkit::fuzz::cases(testkit::fuzz::DEFAULT_CASES));
    assert!(outcomes.cases() >= mutated, "{outcomes}");
    assert!(!outcomes.to_string().ends_with(" 0 did not reach it"));
}
