//! The demo under each fault: it calls once, signs no user in, and offers a button that
//! starts again.

use stack::event_log::EventSource;
use stack::faults::Fault;

use super::{LOSING, arm};
use crate::demo::{User, field, page_of, shows_problem};
use crate::login::{Flow, GOOGLE};
use crate::test_stack::TestStack;

/// The calls of the demo's backend whose response a sign-in needs, each with the page that
/// its loss leads to. Without the first a login has not begun, and none is lost.
const NEEDED: [(Flow, &str, &str); 4] = [
    (Flow::Clean, "POST /v1/login/session", "unreachable"),
    (Flow::Clean, "POST /v1/login/result", "lost"),
    (Flow::Legacy, "POST /v1/token", "lost"),
    (Flow::Legacy, "GET /v1/profile", "lost"),
];

#[tokio::test]
async fn the_demo_reads_a_lost_result_only_once_and_signs_no_user_in() {
    for (flow, operation, problem) in NEEDED {
        for fault in LOSING {
            let stack = TestStack::start().await;
            let user = User::at(&stack);
            arm(&stack, operation, fault);
            let end = user.sign_in(flow, GOOGLE).await;
            shows_problem(&page_of(&end), problem);
            assert!(!user.is_signed_in().await, "{operation} {fault:?}");
            assert_eq!(calls_of(&stack, operation), 1, "{operation} {fault:?}");

            let end = user.start_again(&end).await;
            assert_eq!(end.url, stack.demo("/profile"), "{operation} {fault:?}");
            assert_eq!(field(&page_of(&end), "signIns"), "1");
        }
    }
}

#[tokio::test]
async fn a_delayed_response_signs_the_user_in() {
    for (flow, operation, _) in NEEDED {
        let stack = TestStack::start().await;
        arm(&stack, operation, Fault::Delay);
        let end = User::at(&stack).sign_in(flow, GOOGLE).await;
        assert_eq!(end.url, stack.demo("/profile"), "{operation}");
    }
}

#[tokio::test]
async fn signing_out_works_even_if_the_revocation_fails() {
    for fault in LOSING {
        let stack = TestStack::start().await;
        let user = User::at(&stack);
        user.sign_in(Flow::Legacy, GOOGLE).await;
        arm(&stack, "POST /v1/revoke", fault);
        let end = user.sign_out().await;
        assert_eq!(end.url, stack.demo("/"), "{fault:?}");
        assert!(!user.is_signed_in().await, "{fault:?}");
        assert_eq!(calls_of(&stack, "POST /v1/revoke"), 1, "{fault:?}");
    }
}

/// The number of calls of `operation` that reached the proxy.
fn calls_of(stack: &TestStack, operation: &str) -> usize {
    let events = stack.event_log().events(0, None);
    let calls = events.iter().filter(|event| {
        let reached = event.source == EventSource::Audit || event.fault == Some("refuse");
        event.operation == operation && reached
    });
    calls.count()
}
