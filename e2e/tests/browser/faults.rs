//! Lost responses, as a user sees them.

use stack::Stack;
use stack::event_log::EventSource;
use stack::faults::{Fault, FaultInjection};

use crate::user::Flow;

fn arm(stack: &Stack, operation: &str, fault: Fault) {
    let operation = operation.parse().unwrap();
    stack.faults().arm(FaultInjection::next(operation, fault));
}

/// The number of calls to the broker.
fn calls_of(stack: &Stack, operation: &str) -> usize {
    let events = stack.event_log().events(0, None);
    let is_call = |source, its: &str| source == EventSource::Audit && its == operation;
    events
        .iter()
        .filter(|event| is_call(event.source, &event.operation))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_whose_result_was_lost_starts_again_with_one_click() {
    at_the_demo!(async |stack, user| {
        for (flow, operation) in [
            (Flow::Clean, "POST /v1/login/result"),
            (Flow::Legacy, "POST /v1/token"),
        ] {
            let before = calls_of(&stack, operation);
            arm(&stack, operation, Fault::LoseResponse);
            user.opens_the_demo().await?;
            user.starts(flow, "google").await?;
            user.chooses("ada").await?;
            user.sees_problem("lost").await?;
            user.takes_picture(&format!("lost-{flow:?}")).await?;
            assert_eq!(calls_of(&stack, operation), before + 1);
            user.starts_again().await?;
            user.chooses("ada").await?;
            user.is_signed_in_as("Ada Lovelace").await?;
            user.signs_out().await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_resends_a_lost_callback_and_the_user_gets_back_to_the_consumer() {
    at_the_demo!(async |stack, user| {
        arm(&stack, "GET /callback/{provider}", Fault::LoseResponse);
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        let events = stack.event_log().events(0, None);
        let resend = events.iter().find(|event| event.resend).unwrap();
        assert_eq!(resend.operation, "GET /callback/{provider}");
        assert!(resend.why.unwrap().contains("browsers"));
        let asked = stack.upstream().google().journal();
        let exchanges = asked.iter().filter(|call| call.path == "/token").count();
        assert_eq!(exchanges, 1, "the provider's code is exchanged once");
    });
}
