//! The audit events of a login: each operation, each upstream call, and the login and
//! project they belong to.

use broker::audit::{Event, Step};
use contract::{ClientId, Rule};

use crate::test_broker::{TestBroker, authorize_path, sign_in};

/// An event as a line: sender, receiver, operation, status, steps and rule.
fn line(event: &Event) -> String {
    let steps: Vec<_> = event.steps.iter().map(|step| step.name()).collect();
    let (from, to) = (event.from.name(), event.to.name());
    let status = event.status.unwrap_or_default();
    let rule = event.rule.map_or("", Rule::id);
    let line = format!(
        "{from} to {to}: {} {status} [{}] {rule}",
        event.operation,
        steps.join(" ")
    );
    line.trim_end().to_owned()
}

fn lines(events: &[Event]) -> Vec<String> {
    let mut lines: Vec<_> = events.iter().map(line).collect();
    // Two concurrent calls may end in either order.
    for calls in lines.chunk_by_mut(|one, next| [one, next].iter().all(|it| is_of_api(it))) {
        calls.sort();
    }
    lines
}

fn is_of_api(line: &str) -> bool {
    line.starts_with("broker to github: GET ")
}

/// The upstream calls of a callback from GitHub.
const CALLS: [&str; 3] = [
    "broker to github: POST token 200 []",
    "broker to github: GET user 200 []",
    "broker to github: GET user emails 200 []",
];

#[tokio::test]
async fn a_clean_login_is_logged_step_by_step_under_one_id() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    broker.result(1).await;
    broker.result(1).await;
    let events = broker.events();
    let expected = [
        "consumer to broker: POST /v1/login/session 200 [opened]",
        "browser to broker: GET /login/{handle} 303 [bound]",
    ]
    .into_iter()
    .chain(CALLS)
    .chain([
        "browser to broker: GET /callback/{provider} 303 [upstream_login_consumed completed]",
        "consumer to broker: POST /v1/login/result 200 [result_consumed]",
        "consumer to broker: POST /v1/login/result 400 [] result.once",
    ]);
    assert_eq!(lines(&events), expected.collect::<Vec<_>>());
    let login = events[0].login.clone();
    assert!(login.is_some());
    for event in &events {
        assert_eq!(event.login, login, "{}", event.operation);
        assert_eq!(event.project.as_ref().unwrap().as_str(), "prj_ada");
    }
    // An upstream call has the id of its request, and precedes it.
    let callback = &events[2 + CALLS.len()].request_id;
    let is_its_own = |call: &Event| call.request_id == *callback;
    assert!(events[2..2 + CALLS.len()].iter().all(is_its_own));
}

#[tokio::test]
async fn a_legacy_login_is_logged_step_by_step_under_one_id() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    broker.profile(&token).await;
    broker.revoke(&token).await;
    broker.profile(&token).await;
    let events = broker.events();
    let expected = ["browser to broker: GET /authorize 303 []"]
        .into_iter()
        .chain(CALLS)
        .chain([
            "browser to broker: GET /callback/{provider} 303 [upstream_login_consumed code_issued]",
            "consumer to broker: POST /v1/token 200 [code_redeemed]",
            "consumer to broker: GET /v1/profile 200 []",
            "consumer to broker: POST /v1/revoke 200 [token_revoked]",
            "consumer to broker: GET /v1/profile 401 [] bearer.ended",
        ]);
    assert_eq!(lines(&events), expected.collect::<Vec<_>>());
    let login = events[0].login.clone();
    assert!(login.is_some());
    for event in events {
        assert_eq!(event.login, login, "{}", event.operation);
        // A revocation reads nothing: it does not learn whose token it was.
        let expected = (event.operation != "POST /v1/revoke").then_some("prj_ada");
        let project = event.project.as_ref().map(ClientId::as_str);
        assert_eq!(project, expected, "{}", event.operation);
    }
}

#[tokio::test]
async fn a_failure_at_or_before_the_provider_is_logged_with_its_rule_and_cause() {
    let broker = TestBroker::start().await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    let denied = back.replace("code=upstream-code", "error=access_denied");
    browser.get(&denied).await;
    let event = broker.events().pop().unwrap();
    assert_eq!(event.rule, Some(Rule::UpstreamDenied));
    assert!(event.why.is_some());
    assert_eq!(event.steps, [Step::UpstreamLoginConsumed]);

    let unreachable = authorize_path().replace("github", "google");
    broker.get(&unreachable).await;
    let events = broker.events();
    let events = &events[events.len() - 2..];
    assert_eq!(
        lines(events),
        [
            "broker to google: GET discovery 0 [] upstream.unavailable",
            "browser to broker: GET /authorize 303 [] upstream.unavailable",
        ]
    );
    assert_eq!(events[0].status, None);
    assert_eq!(events[0].why, events[1].why);
}
