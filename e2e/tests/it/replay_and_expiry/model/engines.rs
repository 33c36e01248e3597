//! The model test, on each engine.

#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use std::sync::atomic::{AtomicU32, Ordering};

use super::histories::{HISTORIES, Record, asked_for, play};

pub(super) use sqlite::Folder;

// Threats: L7.
#[test]
fn a_broker_on_sqlite_answers_as_the_reference_model() {
    let folder = Folder::new();
    check(&play(|| folder.database()));
}

// Threats: L7.
#[cfg(feature = "postgres")]
#[test]
fn a_broker_on_postgresql_answers_as_the_reference_model() {
    let server = postgres::start();
    check(&play(|| postgres::schema(&server)));
}

/// The cases that every run must reach: each rule from both sides, each moment on
/// its very millisecond and on those around it.
const WANTED: &[&str] = &[
    "Start: Started",
    "Start: Refused",
    "Start: Unrecognised",
    "Start at LoginEnds-1",
    "Start at LoginEnds+0",
    "Start at LoginEnds+1",
    "Visit: ToProvider",
    "Visit: ToCallback",
    "Visit: NotKnown",
    "Visit: AnotherBrowser",
    "Visit at LoginEnds-1",
    "Visit at LoginEnds+0",
    "Visit at LoginEnds+1",
    "Visit at LoginForgotten-1",
    "Visit at LoginForgotten+0",
    "Visit at LoginForgotten+1",
    "Authorize: ToProvider",
    "SignIn: FromProvider",
    "Deliver: ToCallback",
    "Deliver: CallbackWithCode",
    "Deliver: CallbackWithError",
    "Deliver: NotThisBrowser",
    "Deliver: UpstreamLoginOver",
    "Deliver at UpstreamLoginEnds-1",
    "Deliver at UpstreamLoginEnds+0",
    "Deliver at UpstreamLoginEnds+1",
    "Deliver at AnswerStale-1",
    "Deliver at AnswerStale+0",
    "Deliver at AnswerStale+1",
    "Read: Pending",
    "Read: Succeeded",
    "Read: Failed",
    "Read: Refused",
    "Read at LoginEnds-1",
    "Read at LoginEnds+0",
    "Read at LoginEnds+1",
    "Redeem: Token",
    "Redeem: Refused",
    "Redeem: Unrecognised",
    "Redeem at CodeEnds-1",
    "Redeem at CodeEnds+0",
    "Redeem at CodeEnds+1",
    "Redeem at TokenEnds-1",
    "Redeem at TokenEnds+0",
    "Redeem at TokenEnds+1",
    "Profile: Profile",
    "Profile: Unrecognised",
    "Profile at TokenEnds-1",
    "Profile at TokenEnds+0",
    "Profile at TokenEnds+1",
    "Revoke: Revoked",
    "Clock",
    "Wait",
    "Restart",
];

/// Asserts that as many histories were played as were asked for, and that they
/// left nothing out.
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
    let missing = coverage.missing(WANTED);
    assert!(
        missing.is_empty(),
        "never reached: {missing:?} in\n{coverage}"
    );
}

/// A number that is unique in this process.
fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
