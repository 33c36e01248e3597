//! A file that does not hold together.

use std::fs;
use std::os::unix::fs::FileExt as _;

use super::Place;
use crate::test_broker::result_body;

/// Where a database's second page begins: the first after the list of tables.
const SECOND_PAGE: usize = 4096;

/// Bytes that are no page of any database.
fn garbage(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 167 % 251) as u8 | 1).collect()
}

/// Checks that a database so damaged is refused, and kept for whoever can mend it.
#[track_caller]
fn check(damage: impl FnOnce(&mut Vec<u8>), says: &str) {
    let place = Place::prepared();
    let mut bytes = fs::read(place.database()).unwrap();
    damage(&mut bytes);
    fs::write(place.database(), &bytes).unwrap();
    place.is_refused(says);
    place.is_refused("move");
    assert!(fs::read(place.database()).unwrap() == bytes, "it is kept");
}

#[test]
fn a_damaged_file_is_refused_and_kept() {
    let whole = |bytes: &mut Vec<u8>| *bytes = garbage(bytes.len());
    check(whole, "not a database");
    check(|bytes| *bytes = garbage(9), "not a database");
    let after_the_header = |bytes: &mut Vec<u8>| {
        let rest = bytes.len() - 100;
        bytes[100..].copy_from_slice(&garbage(rest));
    };
    check(after_the_header, "malformed");
    check(|bytes| bytes.truncate(50), "malformed");
    check(|bytes| bytes.truncate(SECOND_PAGE), "malformed");
    check(|bytes| bytes.truncate(2 * SECOND_PAGE + 800), "malformed");
}

#[test]
fn damage_that_only_some_steps_would_meet_is_found_at_the_start() {
    for page in 1..=11 {
        let start = page * SECOND_PAGE;
        let head = |bytes: &mut Vec<u8>| bytes[start..start + 12].copy_from_slice(&garbage(12));
        check(head, "damaged");
    }
}

#[tokio::test]
async fn a_file_that_is_damaged_under_a_broker_makes_it_answer_503() {
    let place = Place::prepared();
    let served = place.serve();
    let whole = fs::read(place.database()).unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(place.database())
        .unwrap();
    let beyond = SECOND_PAGE as u64;
    file.write_all_at(&garbage(whole.len() - SECOND_PAGE), beyond)
        .unwrap();
    make_it_read_again(&place);

    served.session(1).await.is_refusal(503);
    served
        .post("/v1/login/result", &result_body(1))
        .await
        .is_refusal(503);
    assert_eq!(served.get("/livez").await.status, 200);
    served.logged("malformed; move the file away");

    file.write_all_at(&whole[SECOND_PAGE..], beyond).unwrap();
    make_it_read_again(&place);
    assert_eq!(served.session(1).await.status, 200);
    let log = served.kill();
    assert!(!log.contains("panic"), "{log}");
}

/// What a broker has read once it remembers until somebody else has written.
fn make_it_read_again(place: &Place) {
    place
        .connect()
        .pragma_update(None, "user_version", 1)
        .unwrap();
}
