//! Two projects in one stack: a queued user or misbehaviour for one of them, and a fault
//! for one of them, which the sign-ins of the other never meet.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use stack::faults::{Fault, FaultInjection};
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::http::REFUSED;

use crate::control::post;
use crate::test_stack::{TestStack, sign_in};
use testkit::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};

/// The operations of a login by `flow`.
fn operations(flow: Flow) -> [&'static str; 4] {
    match flow {
        Flow::Clean => [
            "POST /v1/login/session",
            "GET /login/{handle}",
            "GET /callback/{provider}",
            "POST /v1/login/result",
        ],
        Flow::Legacy => [
            "GET /authorize",
            "GET /callback/{provider}",
            "POST /v1/token",
            "GET /v1/profile",
        ],
    }
}

async fn queue_for(stack: &TestStack, backend: &Backend, provider: &str, mut entry: Value) {
    entry["client_id"] = json!(backend.client_id);
    let path = format!("/api/upstreams/{provider}/next");
    let queued = post(stack, &path, entry).await;
    assert_eq!(queued.status, 201, "{}", queued.text());
}

/// Arms a fault for one project at a later call, so short that nothing fails.
async fn arm_for(stack: &TestStack, backend: &Backend, operation: &str, nth: u32) {
    let fault = json!({
        "operation": operation,
        "fault": "delay",
        "delay_ms": 1,
        "nth": nth,
        "client_id": backend.client_id,
    });
    let armed = post(stack, "/api/faults", fault).await;
    assert_eq!(armed.status, 201, "{}", armed.text());
}

/// The calls that met a fault: the project and the operation.
fn met_faults(stack: &TestStack) -> Vec<(Option<String>, String)> {
    let events = stack.event_log().events(0, None);
    let met = events.iter().filter(|event| event.fault.is_some());
    met.map(|event| (event.project.clone(), event.operation.clone()))
        .collect()
}

#[tokio::test]
async fn projects_that_sign_in_at_once_meet_their_own_users_and_faults_alone() {
    let stack = TestStack::start().await;
    let (own, other) = (&stack.backend, &stack.other_project("Other").await);
    for flow in FLOWS {
        for provider in PROVIDERS {
            let before = met_faults(&stack).len();
            for operation in operations(flow) {
                arm_for(&stack, own, operation, 2).await;
            }
            for (backend, id) in [(other, "2"), (own, "1"), (own, "3"), (other, "4")] {
                let person = json!({ "person": { "id": id } });
                queue_for(&stack, backend, provider, person).await;
            }
            for users in [["1", "2"], ["3", "4"]] {
                let sign_in = |backend| sign_in(backend, flow, provider);
                let (first, second) = tokio::join!(sign_in(own), sign_in(other));
                let ids = [first, second].map(|it| it.profile()["providerSubject"].clone());
                assert_eq!(ids, users, "{flow:?} {provider}");
            }
            let met: BTreeSet<_> = met_faults(&stack).split_off(before).into_iter().collect();
            let expected = operations(flow).map(|it| (Some(own.client_id.clone()), it.to_owned()));
            assert_eq!(met, BTreeSet::from(expected), "{flow:?} {provider}");
            assert!(stack.faults().armed().is_empty());
        }
    }
}

#[tokio::test]
async fn a_user_for_a_project_signs_in_after_its_confirmation_page() {
    let stack = TestStack::start().await;
    let person = json!({ "person": { "id": "7" } });
    queue_for(&stack, &stack.backend, GOOGLE, person).await;
    let login = stack.backend.start_login(GOOGLE).await;
    let browser = Browser::new();
    let url = &login.authorization_url;
    let page = browser.follow_from("https://elsewhere.example/", url, UNSERVED);
    let page = page.await.response.expect("a page");
    page.is_page(200, "Did you start this sign&#8209;in?");
    let end = browser
        .press_until(url, &format!("{url}/continue"), UNSERVED)
        .await;
    assert_eq!(end.url, stack.backend.callback);
    let result = stack.backend.result(&login.session_key).await.json();
    assert_eq!(result["profile"]["providerSubject"], "7");
}

#[tokio::test]
async fn logins_of_two_projects_with_the_same_state_stay_apart() {
    let stack = TestStack::start().await;
    let other = stack.other_project("Other").await;
    queue_for(&stack, &other, GITHUB, json!({ "person": { "id": "7" } })).await;
    let theirs = other.start_authorization(GITHUB);
    let own = stack.backend.authorize_url(&[
        ("client_id", &stack.backend.client_id),
        ("redirect_uri", &stack.backend.callback),
        ("provider", GITHUB),
        ("state", &theirs.state),
        (
            "code_challenge",
            &testkit::fresh::challenge(&theirs.verifier),
        ),
        ("code_challenge_method", "S256"),
    ]);
    let mut at_provider = Vec::new();
    for url in [&own, &theirs.url] {
        let visit = Browser::new().open(url).await;
        at_provider.push(visit.location().expect("a redirect").to_owned());
    }
    for (url, waiting) in at_provider.iter().zip([1, 0]) {
        Browser::new().open(url).await;
        assert_eq!(stack.upstream().github().queued().len(), waiting);
    }
}

#[tokio::test]
async fn a_call_with_a_malformed_client_id_is_of_no_project_and_its_login_is_known() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let read = "POST /v1/login/result";
    arm_for(&stack, &stack.backend, read, 1).await;
    let body = stack.backend.result_body(&login.session_key);
    for client_id in [json!(5), json!(null), json!(["x"]), json!("x".repeat(101))] {
        let operation = read.parse().expect("an operation");
        stack.faults().arm(FaultInjection {
            delay: Duration::from_millis(1),
            ..FaultInjection::next(operation, Fault::Delay)
        });
        let mut body = body.clone();
        body["client_id"] = client_id;
        stack
            .backend
            .post("/v1/login/result", &body)
            .await
            .is(400, REFUSED);
        let events = stack.event_log().events(0, None);
        let fault = events.iter().rfind(|it| it.fault.is_some());
        assert!(fault.expect("the fault for any call").login.is_some());
        assert_eq!(stack.faults().armed().len(), 1, "the other one waits");
    }
    let array = json!([stack.backend.client_id]);
    let refused = stack.backend.post("/v1/login/result", &array).await;
    assert_eq!(refused.status, 400, "by the broker: {}", refused.text());
    assert_eq!(stack.faults().armed().len(), 1);
    assert_eq!(stack.backend.result(&login.session_key).await.status, 200);
    assert!(stack.faults().armed().is_empty());
}
