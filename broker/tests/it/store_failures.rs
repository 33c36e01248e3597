//! Failures of the store. The broker reports one clear line and does not start, or answers
//! 503 while a failure lasts. Afterwards it continues with everything that it had
//! acknowledged, and with no step half done.
//!
//! These tests run the real program, because only a process can be locked out, run out of
//! disk space, or be killed by a signal. Here is a file that is damaged, locked by another
//! process, moved, or of another version, and a full disk, imitated by a limit on the size
//! of files: it needs no privileges, applies to the database and its log, and brings a signal
//! that would end the process.

#[cfg(target_os = "linux")]
mod power_cut;

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::json;

use crate::installation::Installation;
use crate::process::{BrokerCommand, BrokerProcess};
use crate::test_broker::key;

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
    installation.refuses_to_start(&[text, "move", "broker.db"]);
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
    served.result(&key(1)).await.is_refusal(503);
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

/// Locks the database until the returned transaction is dropped. The broker waits for 5
/// seconds.
fn lock(file: &Connection) -> Transaction<'_> {
    file.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
    Transaction::new_unchecked(file, TransactionBehavior::Exclusive).unwrap()
}

#[test]
fn a_broker_does_not_start_on_a_file_that_another_process_locks() {
    let installation = Installation::with_tables();
    let other = installation.connect();
    let lock = lock(&other);
    std::thread::scope(|scope| {
        for command in ["check", "serve"] {
            let config = &installation.config;
            scope.spawn(move || {
                let output = BrokerCommand::with(command, config).output();
                output.failed("broker.db: the store failed: database is locked");
                output.failed("another process holds it");
            });
        }
    });
    drop(lock);
    assert_eq!(installation.check().code, Some(0));
}

#[tokio::test]
async fn a_broker_that_is_locked_out_answers_503_and_goes_on_afterwards() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    assert_eq!(served.session(1).await.status, 200);
    let other = installation.connect();
    let lock = lock(&other);
    let (one, another) = tokio::join!(served.session(2), served.get("/readyz"));
    one.is_refusal(503);
    another.is_refusal(503);
    served.logged("another process holds it");
    drop(lock);
    assert_eq!(served.session(2).await.status, 200, "its key is not taken");
    served.session(1).await.is_refusal(400);
}

/// What a broker writes to a file that was moved is lost at its next start.
#[tokio::test]
async fn a_broker_is_not_ready_without_the_file_that_it_opened() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    assert_eq!(served.get("/readyz").await.status, 200);
    let (file, aside) = (installation.database(), installation.scratch.file("aside"));
    fs::rename(&file, &aside).unwrap();
    served.get("/readyz").await.is_refusal(503);
    served.logged("the database was moved, removed or replaced");

    fs::copy(&aside, &file).unwrap();
    served.get("/readyz").await.is_refusal(503);

    fs::rename(&aside, &file).unwrap();
    assert_eq!(served.get("/readyz").await.status, 200);
}

#[test]
fn the_tables_of_a_newer_version_or_of_another_program_are_left_alone_and_reported() {
    let newer = "CREATE TABLE logins (another INTEGER); PRAGMA user_version = 2";
    let of_newer = [
        "the tables of version 2, this broker those of 1",
        "store.url",
    ];
    let anothers = "CREATE TABLE recipes (name TEXT)";
    for (tables, messages) in [
        (newer, &of_newer[..]),
        (anothers, &["the tables of another program"]),
    ] {
        let installation = Installation::new();
        installation.connect().execute_batch(tables).unwrap();
        let before = installation.scratch.read_all("broker.db");
        installation.refuses_to_start(&[messages, &["broker.db"]].concat());
        assert_eq!(installation.scratch.read_all("broker.db"), before);
    }
}

#[tokio::test]
async fn a_broker_whose_tables_became_newer_is_not_ready() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    assert_eq!(served.get("/readyz").await.status, 200);
    let other = installation.connect();
    other.pragma_update(None, "user_version", 2).unwrap();
    served.get("/readyz").await.is_refusal(503);
    assert_eq!(served.get("/livez").await.status, 200);
    served.logged("the tables of version 2");
    other.pragma_update(None, "user_version", 1).unwrap();
    assert_eq!(served.get("/readyz").await.status, 200);
}

/// Space for the tables and a few logins in the write-ahead log.
const LITTLE_KIB: u32 = 200;

#[test]
fn without_space_for_its_tables_a_broker_does_not_start_and_leaves_none() {
    let installation = Installation::new();
    for kib in [1, 2, 4, 8, 16, 32] {
        for command in ["check", "serve"] {
            let output = BrokerCommand::limited_to_kib(kib, command, &installation.config).output();
            output.failed("broker.db: the store failed: ");
            output.failed("check whether the disk is full");
        }
        assert_eq!(installation.check().code, Some(0), "after {kib} KiB");
        installation.scratch.remove_all("broker.db");
    }
}

/// Opens logins 0, 1, … until there is no space for one more. Returns their number.
async fn fill(served: &BrokerProcess) -> u8 {
    for key in 0..=u8::MAX {
        let answer = served.session(key).await;
        if answer.status != 200 {
            answer.is_refusal(503);
            return key;
        }
    }
    panic!("the disk is never full");
}

async fn assert_all_pending(served: &BrokerProcess, keys: u8) {
    for n in 0..keys {
        let result = served.result(&key(n)).await;
        result.is_json(200, &json!({ "status": "pending" }));
    }
}

fn serve_with_little_space(installation: &Installation) -> BrokerProcess {
    let config = &installation.config;
    BrokerProcess::start(BrokerCommand::limited_to_kib(LITTLE_KIB, "serve", config))
}

fn lift_the_limit(served: &BrokerProcess) {
    let lifted = Command::new("prlimit")
        .args([
            "--fsize=unlimited:",
            "--pid",
            &served.process_id().to_string(),
        ])
        .status()
        .unwrap();
    assert!(lifted.success());
}

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux lifts the limit")]
async fn a_broker_answers_503_while_the_disk_is_full_and_goes_on_afterwards() {
    let installation = Installation::with_tables();
    let served = serve_with_little_space(&installation);
    let full_at = fill(&served).await;
    assert!(full_at > 0, "the first few fit");
    served.session(full_at).await.is_refusal(503);
    // It writes every few seconds at most.
    let mut answers = 0;
    while served.get("/readyz").await.status == 200 {
        answers += 1;
        assert!(answers < 100_000, "it is ready without space");
    }
    assert_all_pending(&served, full_at).await;
    served.logged("check whether the disk is full");

    lift_the_limit(&served);
    assert_eq!(served.get("/readyz").await.status, 200);
    assert_eq!(served.session(full_at).await.status, 200, "not taken");
    assert_all_pending(&served, full_at + 1).await;
}

// Threats: L8.
#[tokio::test]
async fn every_login_acknowledged_before_the_disk_was_full_survives_a_crash() {
    let installation = Installation::with_tables();
    let served = serve_with_little_space(&installation);
    let full_at = fill(&served).await;
    served.kill();

    let served = installation.serve();
    assert_all_pending(&served, full_at).await;
    assert_eq!(served.session(full_at).await.status, 200, "not taken");
}
