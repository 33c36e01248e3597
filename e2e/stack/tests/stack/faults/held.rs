//! Calls that a fault holds until they are let go.

use reqwest::Method;
use serde_json::{Value, json};
use stack::faults::Fault;
use stack::login_status::LoginState;
use testkit::http::REFUSED;
use testkit::login::GOOGLE;

use super::arm;
use crate::test_stack::TestStack;

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

#[tokio::test]
async fn a_held_request_is_unseen_and_a_held_answer_has_taken_effect_until_it_is_let_go() {
    for (fault, state, by_id) in [
        (Fault::HoldRequest, LoginState::Succeeded, true),
        (Fault::HoldResponse, LoginState::Consumed, false),
    ] {
        let stack = TestStack::start().await;
        let login = stack.completed_login(GOOGLE).await;
        arm(&stack, RESULT, fault);
        let read = || stack.backend.result(&login.session_key);
        let watch = async {
            let call = held(&stack).await;
            assert_eq!(call["operation"], RESULT);
            assert_eq!(call["fault"], fault.name());
            let login = call["login"].as_str().expect("a login");
            let login = stack.login_status(login).await.expect("it is known");
            assert_eq!(login.state, state);
            if by_id {
                assert_eq!(let_go(&stack, &call).await, 204);
                assert_eq!(let_go(&stack, &call).await, 404);
            } else {
                // To disarm all faults lets every call go.
                let cleared = stack.control(Method::DELETE, "/api/faults", None).await;
                assert_eq!(cleared.status, 204);
            }
        };
        let (answer, ()) = tokio::join!(read(), watch);
        assert_eq!(answer.json()["status"], "succeeded", "{fault:?}");
        read().await.is(400, REFUSED);
    }
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
    let (operation, steps) = (&*read.operation, &*read.steps);
    assert_eq!((operation, steps), (RESULT, &["result_consumed"][..]));
}
