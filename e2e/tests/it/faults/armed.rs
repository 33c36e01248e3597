//! The call at which an armed fault triggers.

use stack::faults::{Fault, FaultInjection};

use super::{arm, operation};
use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::http::REFUSED;

const PROVIDERS: &str = "GET /api/providers";

/// Whether the next request for the providers gets a response.
async fn is_answered(stack: &TestStack) -> bool {
    let request = stack
        .backend
        .request(reqwest::Method::GET, "/api/providers");
    request.try_send().await.is_ok()
}

#[tokio::test]
async fn a_fault_triggers_at_the_nth_call_only() {
    let stack = TestStack::start().await;
    assert!(is_answered(&stack).await);
    stack
        .faults()
        .arm(FaultInjection::next(operation(PROVIDERS), Fault::LoseResponse).nth(3));
    stack.backend.start_login(GOOGLE).await;
    let mut answered = Vec::new();
    for _ in 0..5 {
        answered.push(is_answered(&stack).await);
    }
    assert_eq!(answered, [true, true, false, true, true]);
    assert!(stack.faults().armed().is_empty());
}

#[tokio::test]
async fn of_two_faults_each_triggers_at_a_call_of_its_own() {
    let stack = TestStack::start().await;
    arm(&stack, PROVIDERS, Fault::Refuse);
    arm(&stack, PROVIDERS, Fault::LoseResponse);
    for _ in 0..2 {
        assert!(!is_answered(&stack).await);
    }
    assert!(is_answered(&stack).await);
    let events = stack.event_log().events(0, None);
    let faults: Vec<_> = events.iter().filter_map(|event| event.fault).collect();
    assert_eq!(faults, ["refuse", "lose_response"]);
}

#[tokio::test]
async fn a_sticky_fault_triggers_for_one_login_only() {
    let stack = TestStack::start().await;
    let result = operation("POST /v1/login/result");
    let (unlucky, other) = (
        stack.completed_login(GOOGLE).await,
        stack.completed_login(GOOGLE).await,
    );
    stack
        .faults()
        .arm(FaultInjection::next(result, Fault::Html502).sticky());
    for _ in 0..3 {
        assert_eq!(stack.backend.result(&unlucky.session_key).await.status, 502);
    }
    assert_eq!(stack.backend.result(&other.session_key).await.status, 200);
    assert_eq!(stack.faults().armed().len(), 1);

    stack.faults().clear();
    let response = stack.backend.result(&unlucky.session_key).await;
    response.is(400, REFUSED);
}

#[tokio::test]
async fn a_reset_clears_faults_and_events() {
    let stack = TestStack::start().await;
    arm(&stack, PROVIDERS, Fault::Refuse);
    stack.backend.start_login(GOOGLE).await;
    let last = stack.event_log().events(0, None).pop().expect("an event");
    stack.reset().await.expect("a fresh broker");
    assert!(stack.faults().armed().is_empty());
    assert!(stack.event_log().events(0, None).is_empty());
    assert!(stack.event_log().exchange(&last.request_id).is_none());
    assert!(is_answered(&stack).await);
    let first = stack.event_log().events(0, None).remove(0);
    assert!(
        first.seq > last.seq,
        "a sequence number is never used again"
    );
}
