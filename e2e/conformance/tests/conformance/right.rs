//! The runner itself: our broker, the set of requirements, and what a run may not
//! do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use conformance::control::Control;
use conformance::http::MOST_REQUESTS;
use conformance::report::Outcome;
use conformance::{Expiry, Law, Plan, Requirement};
use contract::Rule;
use hyper::Method;
use serde_json::{Value, json};

use super::ground::{CLIENT_ID, Ground, OTHER_SECRET, SECRET, project, run};
use super::proxy::{self, Answered};
use super::wrong::{AS_IT_COMES, AS_IT_IS, verdicts};

/// What no requirement asks for, and why.
const LEFT_OUT: &[(Rule, &str)] = &[
    (Rule::StatePattern, "the Transaction is the consumer's"),
    (
        Rule::CodeChallengePattern,
        "the Transaction is the consumer's",
    ),
    (Rule::OriginShape, "a broker's own configuration"),
    (Rule::DigestText, "a broker's own configuration"),
    (Rule::RequestHttp, "infrastructure may answer"),
    (
        Rule::RedirectUriCanonical,
        "needs a callback that a browser would rewrite to a registered one",
    ),
    (Rule::RequestVerifierInUrl, "no run puts one in a URL"),
    (Rule::RequestPrefetch, "a browser's part"),
    (Rule::BodyEncoding, "infrastructure may decode it"),
    (Rule::BodySize, "infrastructure may answer"),
    (
        Rule::ClientRateLimit,
        "how many are too many is the operator's",
    ),
    (Rule::BodyTime, "infrastructure may answer"),
    (Rule::ProviderOffered, "needs a provider that is off"),
    (
        Rule::SessionQuota,
        "how many are too many is the operator's",
    ),
    (Rule::HandleKnown, "a browser's part"),
    (Rule::HandleOneBrowser, "a browser's part"),
    (Rule::RelayStartOrigin, "a browser's part"),
    (Rule::RelayOwnPage, "a browser's part"),
    (Rule::RelayCancelled, "a browser's part"),
    (Rule::UpstreamLoginOwnBrowser, "a browser's part"),
    (Rule::UpstreamLoginOnce, "a browser's part"),
    (Rule::UpstreamLoginRateLimit, "a browser's part"),
    (Rule::UpstreamLoginExpiry, "a browser's part"),
    (Rule::UpstreamInvalid, "needs a provider that lies"),
    (
        Rule::UpstreamUnavailable,
        "needs a provider that is out of order",
    ),
    (Rule::StoreReachable, "needs a store that is out of order"),
    (Rule::BrokerFault, "not to be had from outside"),
];

#[tokio::test(flavor = "multi_thread")]
async fn our_broker_meets_every_requirement_on_sqlite() {
    let report = Ground::bent(AS_IT_IS, AS_IT_COMES).await.judge().await;
    assert_eq!(
        report.counts()[0],
        ("PASS", Requirement::ALL.len()),
        "{}",
        report.table()
    );
    assert_eq!(report.outcome(), Outcome::Fine);
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn our_broker_meets_every_requirement_on_postgresql() {
    use testkit::postgres::{Durability, Server};
    let server = Server::start(Durability::Relaxed).expect("PostgreSQL");
    let url = server.url("postgres").parse().expect("a store's URL");
    let report = Ground::start(url, AS_IT_IS, AS_IT_COMES)
        .await
        .judge()
        .await;
    assert_eq!(
        report.counts()[0],
        ("PASS", Requirement::ALL.len()),
        "{}",
        report.table()
    );
}

#[test]
fn the_requirements_of_0_1_0_are_these() {
    let ids: Vec<_> = Requirement::ALL.iter().map(|it| it.id()).collect();
    let frozen: Vec<_> = include_str!("requirements-0.1.0.txt").lines().collect();
    assert_eq!(ids, frozen);
}

#[test]
fn no_two_requirements_have_the_same_id() {
    let ids: BTreeSet<_> = Requirement::ALL.iter().map(|it| it.id()).collect();
    assert_eq!(ids.len(), Requirement::ALL.len());
}

#[test]
fn every_rule_of_the_catalogue_is_required_or_left_out_for_a_reason() {
    for rule in Rule::ALL {
        let required = Requirement::ALL.iter().any(|it| it.id() == rule.id());
        let left_out = LEFT_OUT.iter().any(|(it, _)| it == rule);
        assert!(
            required != left_out,
            "{rule}: required {required}, left out {left_out}"
        );
    }
}

#[test]
fn a_requirement_that_is_a_rule_says_what_the_rule_says() {
    for requirement in Requirement::ALL {
        let rule = Rule::ALL.iter().find(|it| it.id() == requirement.id());
        if let Some(rule) = rule {
            assert_eq!(requirement.law().to_string(), rule.source().to_string());
            assert_eq!(requirement.sentence(), rule.sentence());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_control_what_expires_or_declines_is_skipped_with_the_reason() {
    let ground = Ground::bent(AS_IT_IS, AS_IT_COMES).await;
    let plan = Plan {
        control: None,
        other: None,
        project: conformance::Project {
            second_callback: None,
            ..project(CLIENT_ID, SECRET)
        },
        expiry: Expiry::LeftOut,
        ..ground.plan()
    };
    let report = run(&plan).await;
    let skipped = report
        .findings
        .iter()
        .filter(|it| it.verdict.word() == "SKIPPED");
    let skipped: Vec<_> = skipped.map(|it| it.requirement.id()).collect();
    let expected = [
        "callback.clean_after_failure",
        "result.failed",
        "upstream.denied",
        "result.callback",
        "session.lifetime",
        "result.expiry",
        "code.client",
        "code.callback",
        "token.lifetime",
        "bearer.expiry",
        "code.expiry",
    ];
    assert_eq!(skipped, expected);
    assert_eq!(report.outcome(), Outcome::Fine);
    for finding in &report.findings {
        let has_reason = !finding.verdict.why().is_empty();
        assert_eq!(has_reason, finding.verdict.word() == "SKIPPED");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_chosen_otherwise_is_no_failure() {
    // Another status and code for every refusal, and another success.
    let ground = Ground::bent(
        |_, asked| {
            asked.path = asked.path.replace("?client_secret=", "?other=");
            None
        },
        |_, asked, answered| {
            if answered.status == 401 {
                answered.status = 403;
                answered.edit(|body| body["error"] = "invalid_client".into());
            } else if asked.path == "/v1/token" && answered.status == 200 {
                answered.status = 201;
            } else if asked.path == "/v1/revoke" && answered.status == 200 {
                answered.status = 204;
                answered.body.clear();
            }
        },
    );
    let report = ground.await.judge().await;
    let unspecified: Vec<_> = verdicts(&report)
        .into_iter()
        .filter(|(_, word)| *word != "PASS")
        .collect();
    let expected = [
        "error.code",
        "refusal.status",
        "request.secret_beside_body",
        "revoke.body",
        "success.status",
    ];
    assert_eq!(unspecified, expected.map(|id| (id, "UNSPECIFIED")));
    assert_eq!(report.outcome(), Outcome::Fine);
}

/// The specification closes requests and leaves answers open.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_adds_a_member_to_every_answer_is_reported_and_not_failed() {
    let ground = Ground::bent(AS_IT_IS, |_, asked, answered| {
        if asked.path == "/v1/revoke" {
            return;
        }
        answered.edit(|body| {
            body.get_mut("profile").map(add_a_member);
            match body {
                Value::Array(items) => items.iter_mut().for_each(add_a_member),
                object => add_a_member(object),
            }
        });
    });
    let report = ground.await.judge().await;
    let others: Vec<_> = verdicts(&report)
        .into_iter()
        .filter(|(_, word)| *word != "PASS")
        .collect();
    assert_eq!(
        others,
        [("answer.members", "UNSPECIFIED")],
        "{}",
        report.table()
    );
    assert_eq!(report.outcome(), Outcome::Fine);
}

fn add_a_member(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert("more".to_owned(), 1.into());
    }
}

#[test]
fn what_the_kit_chose_is_not_required_of_anybody() {
    let chosen = Requirement::ALL
        .iter()
        .filter(|it| it.law() == Law::KitChoice);
    assert_eq!(chosen.count(), 22);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_report_shows_a_secret_or_who_signed_in() {
    let ground = Ground::bent(AS_IT_IS, |_, asked, answered| {
        // So that reports have much to tell.
        if asked.method == Method::POST && answered.status == 200 {
            answered.edit(|body| {
                body["more"] = asked.json();
                body["expires_in"] = 1.into();
            });
        }
    });
    let report = ground.await.judge().await;
    assert_eq!(report.outcome(), Outcome::Broken);
    for told in [report.table(), report.json(), report.junit()] {
        for secret in [SECRET, OTHER_SECRET, "conformance@app.example"] {
            assert!(!told.contains(secret), "{told}");
        }
        let is_of_a_secret =
            |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        let mut words = told.split(|character| !is_of_a_secret(character));
        let drawn = |word: &&str| word.len() >= 43 && word.chars().any(|it| !word.starts_with(it));
        assert_eq!(words.find(drawn), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_yes_to_everything_is_asked_no_more_than_was_promised() {
    let (listener, base_url) = testkit::server::bind();
    let asked_for = Arc::new(AtomicUsize::new(0));
    let count = asked_for.clone();
    let own = base_url.clone();
    proxy::serve(listener, move |asked| {
        count.fetch_add(1, Ordering::Relaxed);
        let body = match asked.path.as_str() {
            "/api/providers" => json!([{ "id": "google" }]),
            "/v1/login/session" => json!({ "authorization_url": format!("{own}/somewhere") }),
            _ => json!({}),
        };
        async move { Answered::of(200, &body.to_string()) }
    });
    let plan = Plan {
        base_url,
        project: project(CLIENT_ID, SECRET),
        other: None,
        browser: conformance::browser::Browser::Automatic,
        control: None,
        expiry: Expiry::LeftOut,
    };
    let report = run(&plan).await;
    assert_eq!(report.outcome(), Outcome::Broken);
    let asked_for = asked_for.load(Ordering::Relaxed);
    assert_eq!(report.requests, asked_for);
    assert!(asked_for <= MOST_REQUESTS, "{asked_for}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_address_that_is_none_is_trouble_and_no_failure() {
    let ground = Ground::bent(AS_IT_IS, AS_IT_COMES).await;
    let plan = Plan {
        control: Some(Control::at("http://127.0.0.1:9")),
        ..ground.plan()
    };
    let report = run(&plan).await;
    assert_eq!(report.outcome(), Outcome::Troubled);
    assert!(verdicts(&report).values().all(|word| *word != "FAIL"));
    assert!(report.troubles[0].contains("the control address http://127.0.0.1:9"));
}
