//! That a target can fail, and says over what.

use std::cell::Cell;
use std::panic::catch_unwind;

fn seeds() -> Vec<Vec<u8>> {
    vec![b"one=1".to_vec(), b"two=2&three=3".to_vec()]
}

#[test]
fn a_judge_sees_each_seed_as_it_is_and_then_what_becomes_of_it() {
    let seen = Cell::new(0);
    let met = testkit::fuzz::judge("all", &seeds(), |bytes| {
        seen.set(seen.get() + 1);
        if seen.get() <= 2 {
            assert_eq!(bytes, seeds()[seen.get() - 1]);
        }
        bytes.contains(&b'=')
    });
    let all = u64::from(testkit::fuzz::cases(testkit::fuzz::USUAL)) + 2;
    assert_eq!(met.values().sum::<u64>(), all);
    assert!(met[&false] > all / 100 && met[&true] > all / 2, "{met:?}");
}

#[test]
fn what_breaks_a_judge_is_shown_as_a_literal_and_small() {
    let broken = catch_unwind(|| {
        testkit::fuzz::judge("careful", &seeds(), |bytes| {
            assert!(!bytes.contains(&0xff), "an octet that is no text");
        })
    });
    let said = broken.expect_err("0xff is among what is put in");
    let said = said.downcast_ref::<String>().expect("a sentence");
    let names = ["careful: ", "an octet that is no text", "b\"", "\\xff"];
    assert!(names.iter().all(|part| said.contains(part)), "{said}");
    assert!(said.len() < 400, "{said}");
}

#[test]
fn a_target_without_seeds_is_no_target() {
    let broken = catch_unwind(|| testkit::fuzz::Corpus::at("corpus").seeds("nothing"));
    assert!(broken.is_err());
}
