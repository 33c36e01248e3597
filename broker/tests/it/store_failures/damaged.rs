//! A damaged database file.

use std::fs;
use std::os::unix::fs::FileExt as _;

use crate::installation::Installation;
use crate::test_broker::result_body;

/// The start of the second page of a database, the first one after the list of tables.
const SECOND_PAGE: usize = 4096;

/// Bytes that are not a page of any database.
fn garbage(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 167 % 251) as u8 | 1).collect()
}

/// Checks that a damaged database is refused, and kept so that it can be repaired.
#[track_caller]
fn check_refused(damage: impl FnOnce(&mut Vec<u8>), text: &str) {
    let installation = Installation::with_tables();
    let mut bytes = fs::read(installation.database()).unwrap();
    damage(&mut bytes);
    fs::write(installation.database(), &bytes).unwrap();
    installation.assert_refused(text);
    installation.assert_refused("move");
    assert!(
        fs::read(installation.database()).unwrap() == bytes,
        "it is kept"
    );
}

#[test]
fn a_damaged_file_is_refused_and_kept() {
    let whole = |bytes: &mut Vec<u8>| *bytes = garbage(bytes.len());
    check_refused(whole, "not a database");
    check_refused(|bytes| *bytes = garbage(9), "not a database");
    let after_the_header = |bytes: &mut Vec<u8>| {
        let rest = bytes.len() - 100;
        bytes[100..].copy_from_slice(&garbage(rest));
    };
    check_refused(after_the_header, "malformed");
    check_refused(|bytes| bytes.truncate(50), "malformed");
    check_refused(|bytes| bytes.truncate(SECOND_PAGE), "malformed");
    check_refused(|bytes| bytes.truncate(2 * SECOND_PAGE + 800), "malformed");
}

#[test]
fn damage_in_any_page_is_found_at_the_start() {
    for page in 1..=11 {
        let start = page * SECOND_PAGE;
        let head = |bytes: &mut Vec<u8>| bytes[start..start + 12].copy_from_slice(&garbage(12));
        check_refused(head, "damaged");
    }
}

#[tokio::test]
async fn a_file_that_is_damaged_under_a_broker_makes_it_answer_503() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    let whole = fs::read(installation.database()).unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(installation.database())
        .unwrap();
    let beyond = SECOND_PAGE as u64;
    file.write_all_at(&garbage(whole.len() - SECOND_PAGE), beyond)
        .unwrap();
    invalidate_the_cache(&installation);

    served.session(1).await.is_refusal(503);
    served
        .post("/v1/login/result", &result_body(1))
        .await
        .is_refusal(503);
    assert_eq!(served.get("/livez").await.status, 200);
    served.logged("malformed; move the file away");

    file.write_all_at(&whole[SECOND_PAGE..], beyond).unwrap();
    invalidate_the_cache(&installation);
    assert_eq!(served.session(1).await.status, 200);
    let log = served.kill();
    assert!(!log.contains("panic"), "{log}");
}

/// Writes to the database, so that the broker discards the pages that it has cached.
fn invalidate_the_cache(installation: &Installation) {
    installation
        .connect()
        .pragma_update(None, "user_version", 1)
        .unwrap();
}
