//! The control API for faults.

use reqwest::Method;
use serde_json::{Value, json};

use super::{get, post, refuses};
use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::http::{Http, REFUSED};

const RESULT: &str = "POST /v1/login/result";

async fn arm(stack: &TestStack, body: Value) -> testkit::http::Response {
    post(stack, "/api/faults", body).await
}

#[tokio::test]
async fn a_fault_triggers_once_and_is_logged() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let response = arm(
        &stack,
        json!({ "operation": RESULT, "fault": "html_502", "nth": 1 }),
    )
    .await;
    assert_eq!(response.status, 201);
    let id = response.json()["id"].clone();
    assert_eq!(
        get(&stack, "/api/faults").await.json(),
        json!([{ "id": id, "operation": RESULT, "fault": "html_502", "client_id": null, "passes": 0, "sticks_to": null }])
    );
    assert_eq!(stack.backend.result(&login.session_key).await.status, 502);
    assert_eq!(get(&stack, "/api/faults").await.json(), json!([]));
    stack
        .backend
        .result(&login.session_key)
        .await
        .is(400, REFUSED);
}

#[tokio::test]
async fn faults_are_taken_back() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    arm(
        &stack,
        json!({ "operation": RESULT, "fault": "html_502", "sticky": true }),
    )
    .await;
    let response = stack.control(Method::DELETE, "/api/faults", None).await;
    assert_eq!(response.status, 204);
    assert_eq!(stack.backend.result(&login.session_key).await.status, 200);
}

#[tokio::test]
async fn each_fault_has_an_id_of_its_own() {
    let stack = TestStack::start().await;
    let order = json!({ "operation": RESULT, "fault": "refuse" });
    let first = arm(&stack, order.clone()).await.json();
    let second = arm(&stack, order).await.json();
    assert!(first["id"].is_u64());
    assert_ne!(first["id"], second["id"]);
}

#[tokio::test]
async fn what_does_not_exist_is_refused_with_a_list_of_what_does() {
    let stack = TestStack::start().await;
    let unknown_operation = json!({ "operation": "POST /v1/logout", "fault": "refuse" });
    refuses(&arm(&stack, unknown_operation).await, 400, RESULT);
    let unknown_fault = json!({ "operation": RESULT, "fault": "explode" });
    refuses(&arm(&stack, unknown_fault).await, 400, "lose_response");
    for (field, value) in [
        ("nth", json!(0)),
        ("nth", json!(-1)),
        ("nth", json!("first")),
        ("nth", json!(1.5)),
        ("sticky", json!(1)),
        ("delay_ms", json!(5)),
        ("seconds", json!(5)),
    ] {
        let mut order = json!({ "operation": RESULT, "fault": "refuse" });
        order[field] = value;
        assert_eq!(arm(&stack, order.clone()).await.status, 400, "{order}");
    }
    let too_large = r#"{"operation":"POST /v1/token","fault":"refuse","nth":18446744073709551616}"#;
    let request = Http::at(&stack.urls().control).post("/api/faults");
    let request = request.header("Content-Type", "application/json");
    let refused = request.body(too_large).send().await;
    refuses(&refused, 400, "nth: the number is too large, expected u32");
    let endless = json!({ "operation": RESULT, "fault": "delay", "delay_ms": 600_001 });
    refuses(&arm(&stack, endless).await, 400, "delay_ms");
    assert_eq!(get(&stack, "/api/faults").await.json(), json!([]));
}

#[tokio::test]
async fn another_answer_is_armed_with_its_status_headers_and_body() {
    let stack = TestStack::start().await;
    // Escaped, the largest body is six times as long.
    let body = "\u{1}".repeat(64 * 1024);
    let order = json!({ "operation": "GET /api/providers", "fault": "answer", "answer": {
        "status": 503, "headers": { "Retry-After": "7", "content-type": "text/plain" }, "body": body,
    } });
    assert_eq!(arm(&stack, order).await.status, 201);
    let answer = stack.backend.providers().await;
    assert_eq!((answer.status, answer.text()), (503, body.as_str()));
    assert_eq!(answer.header("retry-after"), Some("7"));
    assert_eq!(answer.header("content-type"), Some("text/plain"));

    let bare = json!({ "operation": "GET /api/providers", "fault": "answer", "answer": { "status": 200 } });
    assert_eq!(arm(&stack, bare).await.status, 201);
    stack.backend.providers().await.is(200, "");
}

#[tokio::test]
async fn an_answer_that_cannot_be_is_refused_with_its_member() {
    let stack = TestStack::start().await;
    let many: Value = (0..17)
        .map(|n| (format!("X-{n}"), json!("x")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    for (answer, says) in [
        (json!({ "status": 199 }), "answer.status: 200 to 599"),
        (json!({ "status": 600 }), "answer.status: 200 to 599"),
        (json!({ "status": "ok" }), "answer.status"),
        (json!({ "body": "x" }), "status"),
        (json!({ "status": 200, "body": 5 }), "answer.body"),
        (
            json!({ "status": 200, "body": "x".repeat(65_537) }),
            "answer.body: at most 65536 bytes",
        ),
        (
            json!({ "status": 200, "headers": many }),
            "answer.headers: at most 16",
        ),
        (
            json!({ "status": 200, "headers": { "a b": "c" } }),
            "answer.headers: a name",
        ),
        (
            json!({ "status": 200, "headers": { "a": "b\r\nc: d" } }),
            "answer.headers: a value",
        ),
        (
            json!({ "status": 200, "headers": { "a": 1 } }),
            "answer.headers",
        ),
        (
            json!({ "status": 200, "headers": { "Content-Length": "1" } }),
            "content-length",
        ),
        (
            json!({ "status": 200, "headers": { "Transfer-Encoding": "x" } }),
            "the connection",
        ),
        (json!({ "status": 200, "reason": "OK" }), "reason"),
        (json!("other"), "answer"),
    ] {
        let order = json!({ "operation": RESULT, "fault": "answer", "answer": answer });
        refuses(&arm(&stack, order).await, 400, says);
    }
    let refuse = json!({ "operation": RESULT, "fault": "refuse", "answer": { "status": 200 } });
    refuses(
        &arm(&stack, refuse).await,
        400,
        "answer belongs to the fault answer alone",
    );
    assert_eq!(get(&stack, "/api/faults").await.json(), json!([]));
}
