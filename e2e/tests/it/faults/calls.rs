//! Each fault at each single-use call: the backend's response, the events of the audit
//! log and the proxy, and the result of a retry.

use stack::event_log::{EventSource, LoggedEvent};
use stack::faults::Fault;
use stack::login_status::{LoginCall, LoginState};

use super::arm;
use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::backend::{CleanLogin, LegacyLogin};
use testkit::http::{Request, Response};

/// A call that can be made, with what it takes.
enum Ready {
    Session(String),
    Result(CleanLogin),
    Token(LegacyLogin, String),
    Revoke(String),
}

const OPERATIONS: [&str; 4] = [
    "POST /v1/login/session",
    "POST /v1/login/result",
    "POST /v1/token",
    "POST /v1/revoke",
];

impl Ready {
    async fn to(operation: &str, stack: &TestStack) -> Self {
        match operation {
            "POST /v1/login/session" => Self::Session(testkit::fresh::secret()),
            "POST /v1/login/result" => Self::Result(stack.completed_login(GOOGLE).await),
            "POST /v1/token" => {
                let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
                Self::Token(transaction, code)
            }
            _ => {
                let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
                Self::Revoke(stack.backend.token(&transaction, &code).await)
            }
        }
    }

    fn request(&self, stack: &TestStack) -> Request {
        let backend = &stack.backend;
        let post = |path, body| backend.request(reqwest::Method::POST, path).json(&body);
        match self {
            Self::Session(key) => post("/v1/login/session", backend.session_body(key, GOOGLE)),
            Self::Result(login) => {
                post("/v1/login/result", backend.result_body(&login.session_key))
            }
            Self::Token(transaction, code) => {
                post("/v1/token", backend.token_body(&transaction.verifier, code))
            }
            Self::Revoke(token) => backend
                .request(reqwest::Method::POST, "/v1/revoke")
                .bearer_auth(token),
        }
    }

    async fn call(&self, stack: &TestStack) -> reqwest::Result<Response> {
        self.request(stack).try_send().await
    }

    /// The steps that the broker commits when it receives the call.
    fn steps(&self) -> [&'static str; 1] {
        match self {
            Self::Session(_) => ["opened"],
            Self::Result(_) => ["result_consumed"],
            Self::Token(..) => ["code_redeemed"],
            Self::Revoke(_) => ["token_revoked"],
        }
    }

    /// The login's status before the call, and after the broker has received it.
    fn states(&self) -> (LoginState, LoginState) {
        match self {
            Self::Session(_) => (LoginState::None, LoginState::Pending),
            Self::Result(_) => (LoginState::Succeeded, LoginState::Consumed),
            Self::Token(..) => (LoginState::CodeIssued, LoginState::Redeemed),
            Self::Revoke(_) => (LoginState::Redeemed, LoginState::Ended),
        }
    }

    /// The status of a second try, after a first that the broker has seen, and
    /// where the login stands then.
    fn second_try(&self) -> (u16, Option<&'static str>, LoginState) {
        match self {
            Self::Session(_) => (400, Some("session_key.fresh"), LoginState::Pending),
            Self::Result(_) => (400, Some("result.once"), LoginState::Consumed),
            Self::Token(..) => (400, Some("code.once"), LoginState::Ended),
            Self::Revoke(_) => (200, None, LoginState::Ended),
        }
    }
}

#[tokio::test]
async fn a_call_that_the_broker_never_saw_can_be_made_again() {
    for operation in OPERATIONS {
        let stack = TestStack::start().await;
        let ready = Ready::to(operation, &stack).await;
        arm(&stack, operation, Fault::Refuse);
        let error = ready.call(&stack).await.unwrap_err();
        assert!(error.is_request() && !error.is_timeout(), "{error:?}");

        let seen = Seen::last(&stack, operation);
        assert!(seen.audit.is_none(), "{operation}");
        seen.proxy_reported(Fault::Refuse, &[]);
        let (before, after) = ready.states();
        let call = last_call(&stack, &seen.proxy, before).await;
        assert_eq!(
            (call.status, call.committed, call.is_received),
            (None, false, false)
        );

        assert_eq!(ready.call(&stack).await.unwrap().status, 200);
        assert!(last_call(&stack, &seen.proxy, after).await.is_received);
    }
}

// Threats: L4.
#[tokio::test]
async fn a_call_whose_response_was_lost_has_taken_effect() {
    for operation in OPERATIONS {
        for fault in [
            Fault::LoseResponse,
            Fault::Truncate,
            Fault::Html502,
            Fault::Html200,
            Fault::Answer,
        ] {
            let stack = TestStack::start().await;
            let ready = Ready::to(operation, &stack).await;
            arm(&stack, operation, fault);
            assert_no_response(fault, ready.call(&stack).await);

            let seen = Seen::last(&stack, operation);
            let audit = seen.audit.as_ref().expect("the broker saw it");
            assert_eq!((audit.status, audit.rule), (Some(200), None));
            assert_eq!(audit.steps, ready.steps());
            seen.proxy_reported(fault, &ready.steps());
            let call = last_call(&stack, &seen.proxy, ready.states().1).await;
            assert_eq!(
                (call.status, call.committed, call.is_received),
                (Some(200), true, false)
            );

            let (status, rule, state) = ready.second_try();
            assert_eq!(
                ready.call(&stack).await.unwrap().status,
                status,
                "{operation} {fault:?}"
            );
            let call = last_call(&stack, &seen.proxy, state).await;
            assert_eq!((call.rule, call.is_received), (rule, true));
        }
    }
}

#[tokio::test]
async fn a_delayed_response_is_still_delivered() {
    for operation in OPERATIONS {
        let stack = TestStack::start().await;
        let ready = Ready::to(operation, &stack).await;
        arm(&stack, operation, Fault::Delay);
        assert_eq!(ready.call(&stack).await.unwrap().status, 200);
        let seen = Seen::last(&stack, operation);
        seen.proxy_reported(Fault::Delay, &ready.steps());
        let call = last_call(&stack, &seen.proxy, ready.states().1).await;
        assert_eq!((call.fault, call.is_received), (Some("delay"), true));
    }
}

/// The backend's error or partial response.
fn assert_no_response(fault: Fault, received: reqwest::Result<Response>) {
    match (fault, received) {
        (Fault::LoseResponse, Err(error)) => {
            assert!(error.is_request() && !error.is_timeout(), "{error:?}");
        }
        // The status is 200, and the body is truncated.
        (Fault::Truncate, Err(error)) => assert!(error.is_body() || error.is_decode(), "{error:?}"),
        (Fault::Html502, Ok(page)) => is_page(&page, 502),
        (Fault::Html200, Ok(page)) => is_page(&page, 200),
        (Fault::Answer, Ok(other)) => {
            other.is(200, "{}");
        }
        (fault, received) => panic!("{fault:?}: {received:?}"),
    }
}

fn is_page(page: &Response, status: u16) {
    assert_eq!(page.status, status);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(
        page.header("x-request-id").is_none(),
        "the broker says nothing"
    );
    assert!(!page.text().contains("profile") && !page.text().contains("fsi_"));
}

/// The last event of an operation.
struct Seen {
    audit: Option<LoggedEvent>,
    proxy: LoggedEvent,
}

impl Seen {
    fn last(stack: &TestStack, operation: &str) -> Self {
        let events = stack.event_log().events(0, None);
        let of = |source| {
            let mut newest_first = events.iter().rev();
            newest_first
                .find(|event| event.operation == operation && event.source == source)
                .map(|event| LoggedEvent::clone(event))
        };
        let proxy = of(EventSource::Proxy).expect("the proxy reports its fault");
        let audit = of(EventSource::Audit).filter(|event| event.request_id == proxy.request_id);
        Self { audit, proxy }
    }

    /// Asserts that the proxy reports `fault` and the committed steps, and no secret.
    fn proxy_reported(&self, fault: Fault, steps: &[&str]) {
        let proxy = &self.proxy;
        assert_eq!(proxy.fault, Some(fault.name()));
        assert_eq!(proxy.why, Some(fault.description()));
        assert_eq!((proxy.from, proxy.to), ("consumer", "broker"));
        assert_eq!(proxy.steps, steps);
        assert_eq!(proxy.committed, !steps.is_empty());
        assert!(proxy.login.is_some(), "it knows whose call it was");
    }
}

/// The last call of the login that `event` is about, which is in `state`.
async fn last_call(stack: &TestStack, event: &LoggedEvent, state: LoginState) -> LoginCall {
    let login = event.login.as_deref().expect("a login");
    let mut login = stack.login_status(login).await.expect("the login is known");
    assert_eq!(login.state, state);
    login.calls.pop().expect("a call")
}
