//! The runner itself: this kit's broker, the set of requirements, and the limits of a
//! run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use conformance::control::StackControl;
use conformance::http::MAX_REQUESTS;
use conformance::report::Conclusion;
use conformance::{Expiry, Law, Requirement, TestPlan};
use contract::Rule;
use hyper::Method;
use serde_json::{Value, json};

use super::non_compliant::{UNCHANGED_REQUEST, UNCHANGED_RESPONSE, verdicts};
use super::proxy::{self, ProxiedResponse};
use super::test_broker::{CLIENT_ID, OTHER_SECRET, SECRET, TestBroker, project, run};

/// The rules that are no requirements, and the reason.
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
    (
        Rule::RequestPrefetch,
        "needs a browser's headers or cookies",
    ),
    (Rule::RequestCookies, "needs a browser's headers or cookies"),
    (
        Rule::UpstreamLoginSameTraits,
        "needs a browser's headers or cookies",
    ),
    (Rule::BearerOnce, "infrastructure may answer"),
    (Rule::BodyEncoding, "infrastructure may decode it"),
    (Rule::BodySize, "infrastructure may answer"),
    (Rule::ClientRateLimit, "the number is the operator's"),
    (Rule::BodyTime, "infrastructure may answer"),
    (Rule::ProviderOffered, "needs a provider that is off"),
    (Rule::SessionQuota, "the number is the operator's"),
    (Rule::HandleKnown, "needs a browser's headers or cookies"),
    (
        Rule::HandleOneBrowser,
        "needs a browser's headers or cookies",
    ),
    (
        Rule::RelayStartOrigin,
        "needs a browser's headers or cookies",
    ),
    (Rule::RelayOwnPage, "needs a browser's headers or cookies"),
    (Rule::RelayCancelled, "needs a browser's headers or cookies"),
    (
        Rule::UpstreamLoginRateLimit,
        "needs a browser's headers or cookies",
    ),
    (Rule::UpstreamInvalid, "needs a provider that lies"),
    (
        Rule::UpstreamUnavailable,
        "needs a provider that is out of order",
    ),
    (Rule::StoreReachable, "needs a store that is out of order"),
    (Rule::BrokerOverload, "needs a broker that is overloaded"),
    (Rule::BrokerFault, "cannot be caused from outside"),
];

#[tokio::test(flavor = "multi_thread")]
async fn this_kits_broker_meets_every_requirement_on_sqlite() {
    let report = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE)
        .await
        .run()
        .await;
    assert_eq!(
        report.counts()[0],
        ("PASS", Requirement::ALL.len()),
        "{}",
        report.table()
    );
    assert_eq!(report.conclusion(), Conclusion::Conformant);
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn this_kits_broker_meets_every_requirement_on_postgresql() {
    use testkit::postgres::{Durability, Server};
    let server = Server::start(Durability::Relaxed).expect("PostgreSQL");
    let url = server.url("postgres").parse().expect("a store's URL");
    let report = TestBroker::start(url, UNCHANGED_REQUEST, UNCHANGED_RESPONSE)
        .await
        .run()
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
fn every_rule_of_the_catalogue_is_a_requirement_or_left_out_for_a_reason() {
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
fn a_requirement_with_the_id_of_a_rule_has_its_law_and_sentence() {
    for requirement in Requirement::ALL {
        let rule = Rule::ALL.iter().find(|it| it.id() == requirement.id());
        if let Some(rule) = rule {
            assert_eq!(requirement.law().to_string(), rule.source().to_string());
            assert_eq!(requirement.sentence(), rule.sentence());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_control_expiry_denial_and_contents_are_skipped_with_the_reason() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE).await;
    let plan = TestPlan {
        control: None,
        other: None,
        project: conformance::TestProject {
            second_callback: None,
            ..project(CLIENT_ID, SECRET)
        },
        expiry: Expiry::LeftOut,
        ..broker.plan()
    };
    let report = run(&plan).await;
    let skipped = report
        .results
        .iter()
        .filter(|it| it.verdict.label() == "SKIPPED");
    let skipped: Vec<_> = skipped.map(|it| it.requirement.id()).collect();
    let expected = [
        "redirect_uri.own_project",
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
        "profile.provider_subject",
        "profile.names",
        "profile.email",
        "profile.email_verified",
        "upstream_login.expiry",
    ];
    assert_eq!(skipped, expected);
    assert_eq!(report.conclusion(), Conclusion::Conformant);
    for finding in &report.results {
        let has_reason = !finding.verdict.reason().is_empty();
        assert_eq!(has_reason, finding.verdict.label() == "SKIPPED");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_choice_where_the_specification_is_silent_is_no_failure() {
    // Another status and code for every refusal, and another success.
    let broker = TestBroker::behind_proxy(
        |_, request| {
            request.path = request.path.replace("?client_secret=", "?other=");
            None
        },
        |_, request, response| {
            if response.status == 401 {
                response.status = 403;
                response.edit(|body| body["error"] = "invalid_client".into());
            } else if request.path == "/v1/token" && response.status == 200 {
                response.status = 201;
            } else if request.path == "/v1/revoke" && response.status == 200 {
                response.status = 204;
                response.body.clear();
            }
        },
    );
    let report = broker.await.run().await;
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
    assert_eq!(report.conclusion(), Conclusion::Conformant);
}

/// The specification closes requests and leaves answers open.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_adds_a_member_to_every_response_is_unspecified() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, |_, request, response| {
        if request.path == "/v1/revoke" {
            return;
        }
        response.edit(|body| {
            body.get_mut("profile").map(add_a_member);
            match body {
                Value::Array(items) => items.iter_mut().for_each(add_a_member),
                object => add_a_member(object),
            }
        });
    });
    let report = broker.await.run().await;
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
    assert_eq!(report.conclusion(), Conclusion::Conformant);
}

fn add_a_member(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert("more".to_owned(), 1.into());
    }
}

#[test]
fn thirty_one_requirements_are_choices_of_this_kit() {
    let chosen = Requirement::ALL
        .iter()
        .filter(|it| it.law() == Law::KitChoice);
    assert_eq!(chosen.count(), 31);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_report_shows_a_secret_or_who_signed_in() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, |_, request, response| {
        // A long report has more places for a secret.
        if request.method == Method::POST && response.status == 200 {
            response.edit(|body| {
                body["more"] = request.json();
                body["expires_in"] = 1.into();
            });
        }
    });
    let report = broker.await.run().await;
    assert_eq!(report.conclusion(), Conclusion::NonConformant);
    for text in [report.table(), report.json(), report.junit()] {
        for secret in [SECRET, OTHER_SECRET, "conformance@app.example"] {
            assert!(!text.contains(secret), "{text}");
        }
        let is_of_a_secret =
            |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        let mut words = text.split(|character| !is_of_a_secret(character));
        let random = |word: &&str| word.len() >= 43 && word.chars().any(|it| !word.starts_with(it));
        assert_eq!(words.find(random), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_everything_gets_no_more_requests_than_promised() {
    let (listener, base_url) = testkit::server::bind();
    let asked_for = Arc::new(AtomicUsize::new(0));
    let count = asked_for.clone();
    let own = base_url.clone();
    proxy::serve(listener, move |request| {
        count.fetch_add(1, Ordering::Relaxed);
        let body = match request.path.as_str() {
            "/api/providers" => json!([{ "id": "google" }]),
            "/v1/login/session" => json!({ "authorization_url": format!("{own}/somewhere") }),
            _ => json!({}),
        };
        async move { ProxiedResponse::of(200, &body.to_string()) }
    });
    let plan = TestPlan {
        base_url,
        project: project(CLIENT_ID, SECRET),
        other: None,
        browser: conformance::browser::BrowserDriver::Automatic,
        control: None,
        expiry: Expiry::LeftOut,
    };
    let report = run(&plan).await;
    assert_eq!(report.conclusion(), Conclusion::NonConformant);
    let asked_for = asked_for.load(Ordering::Relaxed);
    assert_eq!(report.requests, asked_for);
    assert!(asked_for <= MAX_REQUESTS, "{asked_for}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_control_address_is_a_harness_error_and_no_failure() {
    let broker = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE).await;
    let plan = TestPlan {
        control: Some(StackControl::at("http://127.0.0.1:9")),
        ..broker.plan()
    };
    let report = run(&plan).await;
    assert_eq!(report.conclusion(), Conclusion::Inconclusive);
    assert!(verdicts(&report).values().all(|word| *word != "FAIL"));
    assert!(report.harness_errors[0].contains("the control address http://127.0.0.1:9"));
}
