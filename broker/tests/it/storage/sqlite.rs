//! The embedded engine, with one file per test, and the tests of the file itself. And one of
//! everything that a store acknowledges, with the check that it is stored: at another broker
//! in `steps.rs`, and after a kill of the server in `postgres.rs`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use broker::model::UnixMs;
use broker::model::login_session::{LoginOutcome, SessionStatus};
use broker::model::upstream_login::UpstreamLogin;
use broker::store::fail_points::FailPoints;
use broker::store::{Completed, Consumed, Opened, StoreUrl};
use contract::Rule;
use tokio::task::JoinSet;

use super::test_store::{
    self, CONSUMED, Engine, Exchange, PausedStep, Read, TestStore, adas_profile, binding,
    handle_of, login, query, upstream_login,
};
use crate::installation::Scratch;
use crate::test_broker::ada;

pub(crate) struct File(Arc<Scratch>);

impl File {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Scratch::new()))
    }
}

#[async_trait]
impl Engine for File {
    fn url(&self) -> String {
        format!("sqlite:{}", self.0.file("broker.db").display())
    }

    async fn count(&self, select: &str) -> i64 {
        let file = rusqlite::Connection::open(self.0.file("broker.db")).unwrap();
        file.query_row(select, [], |row| row.get(0)).unwrap()
    }
}

fn consumed_upstream_login(store: &TestStore) -> UpstreamLogin {
    upstream_login(1, store.now().plus_ms(600_000))
}

/// Takes every step, one after the other.
pub(super) async fn take_every_step(store: &TestStore) {
    for key in [1, 2, 3] {
        store.open(key).await;
    }
    store.bind_browser(1, 1).await;
    store.succeed(2).await;
    store.succeed(3).await;
    store.consume_result(3).await;
    store
        .consume_upstream_login(&consumed_upstream_login(store))
        .await;
    for code in [1, 2, 3] {
        store.issue(code).await;
    }
    store.redeem(2).await;
    store.redeem(3).await;
    store.revoke(3).await;
}

/// Checks the effect of each step, on a store that was opened since.
pub(super) async fn assert_every_step_is_stored(store: &TestStore) {
    assert_eq!(store.open_with(1, 9).await, Opened::KeyTaken);
    assert!(store.is_granted(1, 1).await, "its browser is remembered");
    assert!(!store.is_granted(1, 2).await);
    assert_eq!(store.succeed(1).await, Completed::Now);
    assert_eq!(store.consume_result(2).await, adas_profile());
    assert_eq!(store.consume_result(3).await, CONSUMED);
    assert_eq!(
        store
            .consume_upstream_login(&consumed_upstream_login(store))
            .await,
        Consumed::Before
    );
    assert_eq!(store.redeem(1).await, Exchange::Token);
    assert_eq!(store.profile(2).await, Ok(ada()));
    assert_eq!(store.redeem(2).await, Exchange::Refused(Rule::CodeOnce));
    assert_eq!(store.profile(3).await, Err(Rule::BearerEnded));
}

// Threats: L6.
#[tokio::test]
async fn a_store_in_memory_keeps_no_file_and_shares_nothing() {
    let open = || test_store::open_at("sqlite::memory:", FailPoints::NONE);
    let (one, other, now) = (open(), open(), UnixMs(1_790_000_000_000));
    for (store, expected) in [
        (&one, Opened::Fresh),
        (&other, Opened::Fresh),
        (&one, Opened::KeyTaken),
    ] {
        let opened = store.open(login(1, handle_of(1), now), now).await;
        assert_eq!(opened.unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_reads_at_once_in_memory_one_gets_the_outcome() {
    let store = test_store::open_at("sqlite::memory:", FailPoints::NONE);
    let now = UnixMs(1_790_000_000_000);
    for round in 0..50 {
        let (new, handle) = (login(round, handle_of(round), now), handle_of(round));
        store.open(new, now).await.unwrap();
        let outcome = LoginOutcome::Succeeded(ada());
        store.complete(handle, outcome, now).await.unwrap();
        let mut reads = JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            reads.spawn(async move { store.consume_result(query(round), now).await.unwrap() });
        }
        let reads: Vec<_> = reads.join_all().await.into_iter().map(Read::from).collect();
        let outcomes = reads.iter().filter(|it| matches!(it, Read::Outcome(_)));
        assert_eq!(outcomes.count(), 1, "{reads:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_neither_waits_for_a_step_that_is_not_committed_nor_sees_it() {
    let store = TestStore::on(File::new());
    store.open(1).await;
    let (fail_points, step) = PausedStep::new();
    let pausing = store.engine.open_with(fail_points);
    let (one, now) = (pausing.clone(), store.now());
    let bind = tokio::spawn(async move { one.bind_browser(handle_of(1), binding(1), now).await });
    step.wait();
    let during = pausing.find(handle_of(1), now).await.unwrap().unwrap();
    assert_eq!(during.status, SessionStatus::Unbound);
    step.resume();
    bind.await.unwrap().unwrap();
    let after = pausing.find(handle_of(1), now).await.unwrap().unwrap();
    assert_eq!(after.status, SessionStatus::Bound(binding(1)));
}

/// Whether a file of these bytes contains `text`.
fn has(bytes: &[u8], text: &str) -> bool {
    let mut parts = bytes.windows(text.len());
    parts.any(|part| part == text.as_bytes())
}

// Threats: A14.
#[tokio::test]
async fn an_erased_profile_is_overwritten_in_the_file() {
    let scratch = Arc::new(Scratch::new());
    let store = TestStore::on(File(scratch.clone()));
    let is_in_file = || {
        let file = rusqlite::Connection::open(scratch.file("broker.db")).unwrap();
        file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        let bytes = std::fs::read(scratch.file("broker.db")).unwrap();
        has(&bytes, &ada().email.unwrap())
    };
    // Enough of them that a freed place is not reused at once.
    for n in 0..20 {
        store.open(n).await;
        store.succeed(n).await;
        store.issue(n).await;
        store.redeem(n).await;
    }
    assert!(is_in_file(), "the search finds a stored profile");
    for n in 0..20 {
        store.consume_result(n).await;
        store.revoke(n).await;
    }
    assert!(!is_in_file());
}

#[test]
fn a_store_url_names_one_of_the_engines() {
    #[track_caller]
    fn check(text: &str, expected: Result<StoreUrl, &str>) {
        assert_eq!(text.parse::<StoreUrl>(), expected);
        assert_eq!(StoreUrl::try_from(text.to_owned()), expected);
        if let Ok(url) = expected {
            assert_eq!(url.to_string(), text);
        }
    }
    check("sqlite::memory:", Ok(StoreUrl::SqliteMemory));
    check("sqlite:a.db", Ok(StoreUrl::SqliteFile("a.db".into())));
    check("sqlite:/a/b.db", Ok(StoreUrl::SqliteFile("/a/b.db".into())));
    for other in ["sqlite:", "", "a.db", "mysql://localhost/x"] {
        let error = "a store is sqlite:PATH, sqlite::memory: or postgres://…";
        check(other, Err(error));
    }
    assert!(
        "postgres://localhost:nowhere/x"
            .parse::<StoreUrl>()
            .is_err()
    );
    // A relative one lies relative to its configuration.
    for (text, expected) in [
        ("sqlite:a.db", "sqlite:/etc/broker/a.db"),
        ("sqlite:/var/a.db", "sqlite:/var/a.db"),
        ("sqlite::memory:", "sqlite::memory:"),
    ] {
        let url: StoreUrl = text.parse().unwrap();
        let url = url.relative_to(Path::new("/etc/broker"));
        assert_eq!(url.to_string(), expected);
    }
}

#[test]
fn the_url_of_a_database_does_not_show_its_password() {
    let url: StoreUrl = "postgres://ada:hunter2@db.example/broker".parse().unwrap();
    assert_eq!(url.to_string(), "postgres://[redacted]");
    assert!(!format!("{url:?}").contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_step_that_fails_does_not_fail_the_steps_beside_it() {
    let store = TestStore::on(File::new());
    store.open_with(255, 255).await;
    let mut steps = JoinSet::new();
    for key in 0..200_u8 {
        // Every tenth has the handle of another login, which breaks a constraint.
        let handle = if key % 10 == 0 { 255 } else { key };
        let login = login(key, handle_of(handle), store.now());
        let (inner, now) = (store.inner.clone(), store.now());
        steps.spawn(async move { (key, inner.open(login, now).await) });
    }
    for (key, opened) in steps.join_all().await {
        match key % 10 {
            0 => {
                let error = opened.unwrap_err().to_string();
                assert!(error.starts_with("the store failed: "), "{key}: {error}");
            }
            _ => assert_eq!(opened.unwrap(), Opened::Fresh, "{key}"),
        }
    }
    assert_eq!(store.rows("logins").await, 181);
}

#[tokio::test]
async fn a_closed_store_leaves_no_erased_profile_in_its_files() {
    let scratch = Arc::new(Scratch::new());
    let store = TestStore::on(File(scratch.clone()));
    store.open(1).await;
    store.succeed(1).await;
    store.consume_result(1).await;
    assert!(scratch.file("broker.db-wal").exists());
    drop(store);
    assert!(!scratch.file("broker.db-wal").exists());
    let name = ada().name.unwrap();
    for (file, bytes) in scratch.read_all("broker.db") {
        assert!(!has(&bytes, &name), "{file} still contains the profile");
    }
}
