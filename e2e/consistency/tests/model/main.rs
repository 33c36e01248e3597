//! The broker beside the reference model of [`consistency`], by a clock that stands still
//! between the steps: the same script is played to both, on each engine, and every answer of the
//! broker must be the model's, to the byte, also in the very millisecond in which something ends
//! and in those around it.
//!
//! [`script`] has the lines of a script, the model and the time, [`choice`] the lines that are
//! worth taking; a [`comparison`] takes them on a [`fixture`], [`histories`] does so thousands of
//! times, and counts where that led, and [`found`] replays scripts.

#[path = "../../../tests/it/broker_parts.rs"]
mod broker_parts;
mod choice;
mod comparison;
mod fixture;
// A script has one line on each line.
#[rustfmt::skip]
mod found;
mod histories;
mod script;

use std::sync::atomic::{AtomicU32, Ordering};

use broker::store::StoreUrl;

use fixture::Database;
use histories::{HISTORIES, Record, asked_for, play};

// Threats: L7.
#[test]
fn a_broker_on_sqlite_answers_as_the_reference_model() {
    let folder = tempfile::tempdir().expect("a folder");
    check(&play(|| sqlite(folder.path())));
}

// Threats: L7.
#[cfg(feature = "postgres")]
#[test]
fn a_broker_on_postgresql_answers_as_the_reference_model() {
    use testkit::postgres::{Durability, Server};

    let server = Server::start(Durability::Relaxed).expect("PostgreSQL");
    check(&play(|| schema(&server)));
}

/// One more file.
pub(crate) fn sqlite(folder: &std::path::Path) -> Database {
    let file = folder.join(format!("{}.db", next()));
    Database {
        store: StoreUrl::SqliteFile(file),
        cookie_keys: Vec::new(),
    }
}

/// One more schema. The key is in the configuration, for there is no file beside which it
/// could be kept.
#[cfg(feature = "postgres")]
fn schema(server: &testkit::postgres::Server) -> Database {
    let schema = format!("model_{}", next());
    testkit::server::runtime().block_on(async {
        let url = server.url("postgres");
        let connecting = tokio_postgres::connect(&url, tokio_postgres::NoTls);
        let (client, connection) = connecting.await.expect("it serves");
        tokio::spawn(connection);
        let statement = format!("CREATE SCHEMA {schema}");
        client.batch_execute(&statement).await.expect("a schema");
    });
    let url = server.url_of_schema(&schema);
    Database {
        store: url.parse().expect("it is written well"),
        cookie_keys: vec![broker::cookie_cipher::CookieKey::from_random(&[7; 32])],
    }
}

/// A number that is unique in this process.
fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The cases that every run must reach: of each step each answer, and each moment that
/// decides it, on its very millisecond and on those around it.
#[rustfmt::skip]
const WANTED: [(&str, &str, &str); 9] = [
    ("Start", "Started Refused Unrecognised", "LoginEnds"),
    ("Visit", "ToProvider ToCallback NotKnown AnotherBrowser", "LoginEnds LoginForgotten"),
    ("Authorize", "ToProvider", ""),
    ("SignIn", "FromProvider", ""),
    ("Deliver", "ToCallback CallbackWithCode CallbackWithError NotThisBrowser UpstreamLoginOver",
        "UpstreamLoginEnds AnswerStale"),
    ("Read", "Pending Succeeded Failed Refused", "LoginEnds"),
    ("Redeem", "Token Refused Unrecognised", "CodeEnds TokenEnds"),
    ("Profile", "Profile Unrecognised", "TokenEnds"),
    ("Revoke", "Revoked", ""),
];

/// Asserts that as many histories were played as were asked for, and that they left
/// nothing out.
#[track_caller]
fn check(record: &Record) {
    let Record {
        histories,
        coverage,
    } = record;
    assert!(*histories >= asked_for(), "only {histories} histories");
    if asked_for() < HISTORIES {
        // Too few to have been everywhere.
        return;
    }
    let mut wanted = ["Clock", "Wait", "Restart"].map(str::to_owned).to_vec();
    for (step, answers, moments) in WANTED {
        let answers = answers.split_whitespace();
        wanted.extend(answers.map(|answer| format!("{step}: {answer}")));
        for moment in moments.split_whitespace() {
            wanted.extend((-1..=1).map(|off_ms| format!("{step} at {moment}{off_ms:+}")));
        }
    }
    wanted.retain(|what| !coverage.has(what));
    assert!(
        wanted.is_empty(),
        "never reached: {wanted:?} in\n{coverage}"
    );
}
