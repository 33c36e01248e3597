//! Calls that a fault holds until they are let go.

use reqwest::Method;
use serde_json::{Value, json};
use stack::faults::Fault;
use stack::login_status::LoginState;

use super::arm;
use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::http::REFUSED;

const RESULT: &str = "POST /v1/login/result";

/// The only held call, once there is one.
async fn held(stack: &TestStack) -> Value {
    loop {
        let held = stack.control(Method::GET, "/api/held", None).await.json();
        if held != json!([]) {
            return held[0].clone();
        }
    }
}

async fn let_go(stack: &TestStack, call: &Value) -> u16 {
    let path = format!("/api/held/{}", call["id"]);
    stack.control(Method::DELETE, &path, None).await.status
}

async fn state(stack: &TestStack, call: &Value) -> LoginState {
    let login = call["login"].as_str().expect("a login");
    stack.login_status(login).await.expect("it is known").state
}

#[tokio::test]
async fn a_held_request_reaches_the_broker_only_when_it_is_let_go() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    arm(&stack, RESULT, Fault::HoldRequest);
    let read = stack.backend.result(&login.session_key);
    let watch = async {
        let call = held(&stack).await;
        assert_eq!(
            (&call["operation"], &call["fault"]),
            (&json!(RESULT), &json!("hold_request"))
        );
        assert_eq!(state(&stack, &call).await, LoginState::Succeeded);
        assert_eq!(let_go(&stack, &call).await, 204);
        assert_eq!(let_go(&stack, &call).await, 404);
    };
    let (answer, ()) = tokio::join!(read, watch);
    assert_eq!(answer.json()["status"], "succeeded");
    stack
        .backend
        .result(&login.session_key)
        .await
        .is(400, REFUSED);
}

#[tokio::test]
async fn a_held_answer_has_taken_effect() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    arm(&stack, RESULT, Fault::HoldResponse);
    let read = stack.backend.result(&login.session_key);
    let watch = async {
        let call = held(&stack).await;
        assert_eq!(call["fault"], "hold_response");
        assert_eq!(state(&stack, &call).await, LoginState::Consumed);
        stack
            .backend
            .result(&login.session_key)
            .await
            .is(400, REFUSED);
        assert_eq!(let_go(&stack, &call).await, 204);
    };
    let (answer, ()) = tokio::join!(read, watch);
    assert_eq!(answer.json()["status"], "succeeded");
}

#[tokio::test]
async fn to_disarm_all_faults_lets_every_call_go() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    arm(&stack, RESULT, Fault::HoldRequest);
    let clear = async {
        held(&stack).await;
        stack.control(Method::DELETE, "/api/faults", None).await
    };
    let (answer, cleared) = tokio::join!(stack.backend.result(&login.session_key), clear);
    assert_eq!(
        (answer.json()["status"].as_str(), cleared.status),
        (Some("succeeded"), 204)
    );
}

#[tokio::test]
async fn a_call_whose_client_has_left_goes_on_when_it_is_let_go() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    arm(&stack, RESULT, Fault::HoldRequest);
    let call = tokio::select! {
        answer = stack.backend.result(&login.session_key) => panic!("{answer:?}"),
        call = held(&stack) => call,
    };
    let mut new = stack.event_log().subscribe();
    assert_eq!(let_go(&stack, &call).await, 204);
    let read = new.recv().await.expect("an event");
    assert_eq!(
        (&*read.operation, &*read.steps),
        (RESULT, &["result_consumed"][..])
    );
}
