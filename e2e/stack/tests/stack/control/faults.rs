//! The control API for faults.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::http::{REFUSED, Response};
use testkit::login::GOOGLE;

use super::{get, post};
use crate::test_stack::TestStack;

const RESULT: &str = "POST /v1/login/result";

async fn arm(stack: &TestStack, body: Value) -> Response {
    let armed = post(stack, "/api/faults", body).await;
    assert_eq!(armed.status, 201, "{}", armed.text());
    armed
}

#[tokio::test]
async fn a_fault_of_a_project_is_listed_until_it_triggers_once() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let client_id = &stack.backend.client_id;
    let order =
        json!({ "operation": RESULT, "fault": "html_502", "nth": 1, "client_id": client_id });
    let id = arm(&stack, order.clone()).await.json()["id"].clone();
    let mut listed = json!({ "id": id, "passes": 0, "sticks_to": null });
    for member in ["operation", "fault", "client_id"] {
        listed[member] = order[member].clone();
    }
    assert_eq!(get(&stack, "/api/faults").await.json(), json!([listed]));
    let read = async || stack.backend.result(&login.session_key).await;
    assert_eq!(read().await.status, 502);
    get(&stack, "/api/faults").await.is(200, "[]");
    read().await.is(400, REFUSED);
}

#[tokio::test]
async fn a_sticky_fault_stays_with_its_login_until_faults_are_taken_back() {
    let stack = TestStack::start().await;
    let unlucky = stack.completed_login(GOOGLE).await;
    let other = stack.completed_login(GOOGLE).await;
    let sticky = json!({ "operation": RESULT, "fault": "refuse", "sticky": true });
    let first = arm(&stack, sticky.clone()).await.json();
    for _ in 0..3 {
        let read = stack.backend.request(Method::POST, "/v1/login/result");
        let read = read.json(&stack.backend.result_body(&unlucky.session_key));
        assert!(read.try_send().await.is_err());
    }
    assert_eq!(stack.backend.result(&other.session_key).await.status, 200);
    let second = arm(&stack, sticky).await.json();
    assert_ne!(first["id"], second["id"]);
    let cleared = stack.control(Method::DELETE, "/api/faults", None).await;
    assert_eq!(cleared.status, 204);
    assert_eq!(stack.backend.result(&unlucky.session_key).await.status, 200);
}

#[tokio::test]
async fn another_answer_arrives_with_its_status_headers_and_body() {
    let stack = TestStack::start().await;
    let order =
        |answer| json!({ "operation": "GET /api/providers", "fault": "answer", "answer": answer });
    // Escaped, the largest body is six times as long.
    let largest = "\u{1}".repeat(64 * 1024);
    let elsewhere = "http://localhost:9/";
    for (status, body, received) in [
        (503, &*largest, &*largest),
        (307, "over there", "over there"),
        (204, "over there", ""),
        (304, "over there", ""),
    ] {
        let headers = json!({ "location": elsewhere, "Set-Cookie": "a=b", "Content-Type": "x/y" });
        let answer = json!({ "status": status, "headers": headers, "body": body });
        arm(&stack, order(answer)).await;
        let answer = stack.backend.providers().await;
        assert_eq!((answer.status, answer.text()), (status, received));
        assert_eq!(answer.location(), Some(elsewhere));
        assert_eq!(answer.set_cookies(), ["a=b"]);
        assert_eq!(answer.header("content-type"), Some("x/y"));
        assert_eq!(answer.header("x-request-id"), None);
        let fault = stack.event_log().events(0, None).pop();
        assert_eq!(fault.expect("the fault").status, Some(status));
    }
    arm(&stack, order(json!({ "status": 200 }))).await;
    stack.backend.providers().await.is(200, "");
}
