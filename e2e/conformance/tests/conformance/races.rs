//! The races: this kit's broker wins them, and brokers that are right about one request after
//! another, but wrong about several at once, lose the race that shows it.

use std::fmt::Write as _;

use broker::store::StoreUrl;
use conformance::Requirement as R;
use conformance::report::Conclusion;
use rocket::futures::StreamExt as _;
use rocket::futures::stream;
use serde_json::Value;

use super::flaws::{PROFILE, RESULT, REVOKE, SESSION, TOKEN, TOKEN_ENDS, accepts};
use super::proxy::{Flaw, ProxiedRequest as Request};
use super::replica::Race::{
    self, AnswerBeforeCommit, CheckThenDelete, LockPerReplica, OwnMemory, StaleCache, StaleRead,
};
use super::test_broker::TestBroker;
use super::{IN_FLIGHT, assert_shows_no_secret, is_broken, snapshots};

/// The races, as a report names them.
const RACES: [&str; 8] = [
    "a session key",
    "an authorization URL",
    "a result",
    "a result that is coming",
    "a provider's answer",
    "a code",
    "a code, by two",
    "a profile after the revocation",
];

/// Declares the flawed brokers: words, the number of replicas, flaw, the requirement that it
/// breaks.
macro_rules! rows {
    ($($words:literal, $replicas:literal: $flaw:expr => $requirement:ident;)+) => {
        fn rows() -> Vec<(&'static str, usize, Flaw, R)> {
            vec![$(($words, $replicas, $flaw, R::$requirement)),+]
        }
    };
}

rows! {
    "looks for a session key, then inserts it", 1:
        racing(CheckThenDelete, |it| it.is_at(SESSION)) => SessionKeyFresh;
    "looks whether a login has a browser, then binds one", 1:
        racing(CheckThenDelete, |it| it.path.starts_with("/login/")) => UpstreamLoginOwnBrowser;
    "looks whether a provider's answer was used, then uses it", 1:
        racing(CheckThenDelete, Request::is_upstream_callback) => UpstreamLoginOnce;
    "reads a result, then deletes it", 1:
        racing(CheckThenDelete, |it| it.is_at(RESULT)) => ResultOnce;
    "consumes a result by a read that was pending", 1:
        racing(StaleRead, |it| it.is_at(RESULT)) => ResultPendingKeeps;
    "reads a code, then deletes it", 1:
        racing(CheckThenDelete, |it| it.is_at(TOKEN)) => CodeOnce;
    "has a lock in each of its processes", 2:
        racing(LockPerReplica, |it| it.is_at(TOKEN)) => CodeOnce;
    "has a memory in each of its processes", 2:
        racing(OwnMemory, |it| it.is_at(TOKEN)) => CodeOnce;
    "has a cache in front", 1:
        cached() => BearerEnded;
    "answers a revocation before it is committed", 1:
        racing(AnswerBeforeCommit, |it| it.is_at(REVOKE)) => BearerEnded;
}

fn racing(race: Race, is_wrong_about: fn(&Request) -> bool) -> Flaw {
    Flaw {
        race: Some((race, is_wrong_about)),
        ..Flaw::default()
    }
}

/// Profiles are cached by their token, until a call may have ended it: one that is under way
/// then is cached after that.
fn cached() -> Flaw {
    let is_about_token = |it: &Request| it.is_at(PROFILE) || it.is_at(REVOKE);
    let cache = accepts(|memory, request| {
        if request.is_at(REVOKE) || request.is_at(TOKEN) {
            memory.forget(PROFILE);
        }
        let is_alive = memory.age(request.token()) < TOKEN_ENDS;
        let is_cached = request.is_at(PROFILE) && is_alive;
        memory.answer_to(request).filter(|_| is_cached).cloned()
    });
    Flaw {
        race: Some((StaleCache, is_about_token)),
        ..cache
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_wrong_about_several_requests_at_once_loses_its_race_alone() {
    let found: Vec<_> = stream::iter(rows())
        .map(async |(words, replicas, flaw, requirement)| {
            let broker = TestBroker::start(StoreUrl::SqliteMemory, flaw, replicas).await;
            let one_by_one = broker.run().await;
            assert_eq!(one_by_one.counts()[0].1, R::ALL.len(), "{words}");
            assert!(one_by_one.races.is_empty());
            // Replicas that are right by themselves win at one address.
            let at_one = broker.race(false, &[requirement]).await;
            let is_found = is_broken(requirement, &at_one);
            assert_eq!(is_found, replicas == 1, "{words}:\n{}", at_one.table());
            let report = match replicas {
                1 => at_one,
                _ => broker.race(true, &[requirement]).await,
            };
            (words, requirement, report)
        })
        .buffered(IN_FLIGHT)
        .collect()
        .await;
    let mut approved = String::new();
    for (words, requirement, report) in found {
        let _ = writeln!(
            approved,
            "# A broker that {words}\nFAIL {}\n",
            requirement.id()
        );
        let table = report.table();
        assert!(is_broken(requirement, &report), "{words}:\n{table}");
        let lost: Vec<_> = report.races.iter().filter(|it| it.is_lost).collect();
        let is_of_reads = requirement == R::ResultPendingKeeps;
        assert_eq!(lost.is_empty(), is_of_reads, "{words}:\n{table}");
        let mut results = report.results.iter();
        let result = results.find(|it| it.requirement == requirement);
        let evidence = result
            .and_then(|it| it.evidence.as_ref())
            .expect("evidence");
        assert!(
            evidence.sent.contains("at once, at 127.0.0.1:"),
            "{evidence:?}"
        );
        assert_shows_no_secret(&report);
    }
    snapshots().bind(|| insta::assert_snapshot!("racing_flaws", approved));
}

#[tokio::test(flavor = "multi_thread")]
async fn this_kits_broker_wins_every_race_on_sqlite() {
    assert_wins(&TestBroker::compliant().await).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_of_this_kits_broker_win_every_race_on_postgresql() {
    use testkit::postgres::{Durability, Server};
    let server = Server::start(Durability::Relaxed).expect("PostgreSQL");
    let url = server.url("postgres").parse().expect("a store's URL");
    assert_wins(&TestBroker::start(url, Flaw::default(), 2).await).await;
}

async fn assert_wins(broker: &TestBroker) {
    let report = broker.race(true, R::ALL).await;
    assert_eq!(
        report.conclusion(),
        Conclusion::Conformant,
        "{}",
        report.table()
    );
    assert_eq!(report.counts()[0].1, R::ALL.len(), "{}", report.table());
    let names: Vec<_> = report.races.iter().map(|it| it.name).collect();
    assert_eq!(names, RACES);
    let json: Value = serde_json::from_str(&report.json()).expect("JSON");
    for (race, shown) in report
        .races
        .iter()
        .zip(json["races"].as_array().expect("races"))
    {
        assert!(race.rounds > 0 && !race.is_lost, "{}", report.table());
        assert_eq!(shown["rounds"], race.rounds);
        let property = format!("race for {}", race.name.replace('\'', "&#39;"));
        assert!(report.junit().contains(&property), "{}", report.junit());
    }
}
