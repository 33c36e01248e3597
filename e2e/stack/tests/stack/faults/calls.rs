//! Each fault at each single-use call: the backend's response, the events of the audit
//! log and the proxy, and the result of a second try.

use reqwest::Method;
use serde_json::{Value, json};
use stack::event_log::{EventSource, LoggedEvent};
use stack::faults::Fault;
use stack::login_status::{LoginCall, LoginState};
use testkit::http::Response;
use testkit::login::GOOGLE;

use super::arm;
use crate::test_stack::TestStack;

const OPERATIONS: [&str; 4] = [
    "POST /v1/login/session",
    "POST /v1/login/result",
    "POST /v1/token",
    "POST /v1/revoke",
];

/// A call that can be made, with what it takes and what it does.
struct Ready {
    path: &'static str,
    token: String,
    body: Value,
    /// The step that the broker commits when it receives the call.
    step: &'static str,
    before: LoginState,
    after: LoginState,
    /// The status and the rule of a second try, after a first that the broker has seen, and
    /// where the login stands then.
    again: (u16, Option<&'static str>, LoginState),
}

impl Ready {
    async fn to(operation: &'static str, stack: &TestStack) -> Self {
        let backend = &stack.backend;
        let (mut token, mut body) = (String::new(), json!({}));
        let (step, before, after, again) = match operation {
            "POST /v1/login/session" => {
                body = backend.session_body(&testkit::fresh::secret(), GOOGLE);
                let again = (400, Some("session_key.fresh"), LoginState::Pending);
                ("opened", LoginState::None, LoginState::Pending, again)
            }
            "POST /v1/login/result" => {
                body = backend.result_body(&stack.completed_login(GOOGLE).await.session_key);
                let again = (400, Some("result.once"), LoginState::Consumed);
                let (before, after) = (LoginState::Succeeded, LoginState::Consumed);
                ("result_consumed", before, after, again)
            }
            "POST /v1/token" => {
                let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
                body = backend.token_body(&transaction.verifier, &code);
                let again = (400, Some("code.once"), LoginState::Ended);
                let (before, after) = (LoginState::CodeIssued, LoginState::Redeemed);
                ("code_redeemed", before, after, again)
            }
            _ => {
                let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
                token = backend.token(&transaction, &code).await;
                let again = (200, None, LoginState::Ended);
                let (before, after) = (LoginState::Redeemed, LoginState::Ended);
                ("token_revoked", before, after, again)
            }
        };
        let (_, path) = operation.split_once(' ').expect("a method and a path");
        Self {
            path,
            token,
            body,
            step,
            before,
            after,
            again,
        }
    }

    async fn call(&self, stack: &TestStack) -> reqwest::Result<Response> {
        let request = stack.backend.request(Method::POST, self.path);
        let request = match self.token.as_str() {
            "" => request.json(&self.body),
            token => request.bearer_auth(token),
        };
        request.try_send().await
    }
}

// Threats: L4.
#[tokio::test]
async fn a_fault_loses_the_answer_but_no_step_of_the_broker() {
    for operation in OPERATIONS {
        for &fault in Fault::ALL.iter().filter(|fault| fault.ends_soon()) {
            check(operation, fault).await;
        }
    }
}

async fn check(operation: &'static str, fault: Fault) {
    let what = format!("{operation} {fault:?}");
    let stack = TestStack::start().await;
    let ready = Ready::to(operation, &stack).await;
    arm(&stack, operation, fault);
    let (is_seen, arrives) = (fault != Fault::Refuse, fault == Fault::Delay);
    assert_received(fault, ready.call(&stack).await);

    let events = stack.event_log().events(0, None);
    let newest = |source| {
        let mut events = events.iter().rev();
        events.find(|it| it.operation == operation && it.source == source)
    };
    let proxy = newest(EventSource::Proxy).expect("the proxy reports its fault");
    let audit = newest(EventSource::Audit).filter(|it| it.request_id == proxy.request_id);
    assert_eq!(audit.is_some(), is_seen, "{what}");
    let steps = if is_seen { vec![ready.step] } else { vec![] };
    if let Some(audit) = audit {
        assert_eq!((audit.status, audit.rule), (Some(200), None), "{what}");
        assert_eq!(audit.steps, steps, "{what}");
    }
    assert_eq!(proxy.fault, Some(fault.name()));
    assert_eq!(proxy.why, Some(fault.description()));
    assert_eq!((proxy.from, proxy.to), ("consumer", "broker"));
    assert_eq!((&proxy.steps, proxy.committed), (&steps, is_seen), "{what}");

    let state = if is_seen { ready.after } else { ready.before };
    let call = last_call(&stack, proxy, state).await;
    let told = (call.status, call.committed, call.is_received);
    assert_eq!(told, (is_seen.then_some(200), is_seen, arrives), "{what}");

    let (status, rule, state) = if is_seen {
        ready.again
    } else {
        (200, None, ready.after)
    };
    let again = ready.call(&stack).await.expect("no fault is left");
    assert_eq!(again.status, status, "{what}");
    let call = last_call(&stack, proxy, state).await;
    assert_eq!((call.rule, call.is_received), (rule, true), "{what}");
    let events = stack.event_log().events(0, None);
    let is_resend = events.iter().any(|event| event.resend);
    let is_lost = matches!(fault, Fault::Refuse | Fault::LoseResponse);
    assert_eq!(is_resend, is_lost, "{what}: a bad answer is an answer");
}

/// Asserts the backend's error, or the response that it got.
fn assert_received(fault: Fault, received: reqwest::Result<Response>) {
    match (fault, received) {
        (Fault::Refuse | Fault::LoseResponse, Err(error)) => {
            assert!(error.is_request() && !error.is_timeout(), "{error:?}");
        }
        // The status is 200, and the body is truncated.
        (Fault::Truncate, Err(error)) => assert!(error.is_body() || error.is_decode(), "{error:?}"),
        (Fault::Html502, Ok(page)) => is_page(&page, 502),
        (Fault::Html200, Ok(page)) => is_page(&page, 200),
        (Fault::Answer, Ok(other)) => {
            other.is(200, "{}");
        }
        (Fault::Delay, Ok(answer)) => assert_eq!(answer.status, 200),
        (fault, received) => panic!("{fault:?}: {received:?}"),
    }
}

fn is_page(page: &Response, status: u16) {
    assert_eq!(page.status, status);
    let media_type = page.header("content-type");
    assert_eq!(media_type, Some("text/html; charset=utf-8"));
    let id = page.header("x-request-id");
    assert!(id.is_none(), "the broker says nothing");
    assert!(!page.text().contains("profile") && !page.text().contains("fsi_"));
}

/// The last call of the login that `event` is about, which is in `state`.
async fn last_call(stack: &TestStack, event: &LoggedEvent, state: LoginState) -> LoginCall {
    let login = event.login.as_deref().expect("it knows whose call it was");
    let mut login = stack.login_status(login).await.expect("the login is known");
    assert_eq!(login.state, state);
    login.calls.pop().expect("a call")
}
