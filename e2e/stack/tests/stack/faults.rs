//! Faults of the proxy: the client's response, the broker's committed steps, the events,
//! and the result of the next call; calls that a fault holds; and resent calls, with the party
//! that resends them. The call at which a fault triggers is tested beside the code.

mod calls;
mod slow;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use stack::event_log::LoggedEvent;
use stack::faults::{Fault, FaultInjection};
use stack::login_status::LoginState;
use stack::operation::BrokerOperation;
use testkit::http::REFUSED;
use testkit::login::GOOGLE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_stack::TestStack;

fn operation(name: &str) -> BrokerOperation {
    name.parse().expect("one of the broker's")
}

/// The next call of `operation` is struck; a delay is over at once.
fn arm(stack: &TestStack, operation: &str, fault: Fault) {
    stack.faults().arm(FaultInjection {
        delay: Duration::from_millis(1),
        ..FaultInjection::next(self::operation(operation), fault)
    });
}

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

const PROVIDERS: &str = "GET /api/providers";
const ANSWERED: &[u8] = b"HTTP/1.1 200";
const REQUEST: &[u8] = b"GET /api/providers HTTP/1.1\r\nHost: x\r\n\r\n";

async fn connect(stack: &TestStack) -> TcpStream {
    let address = stack.broker().strip_prefix("http://").expect("plain HTTP");
    TcpStream::connect(address).await.expect("a listener")
}

/// Asks, and reads the answer's first bytes; none when the connection closes.
async fn request(connection: &mut TcpStream) -> Vec<u8> {
    connection.write_all(REQUEST).await.expect("it is open");
    let mut received = vec![0; 4096];
    let length = connection.read(&mut received).await.unwrap_or(0);
    received.truncate(length);
    received
}

fn resends(stack: &TestStack) -> Vec<LoggedEvent> {
    let events = stack.event_log().events(0, None);
    let resends = events.iter().filter(|event| event.resend);
    resends.map(|event| LoggedEvent::clone(event)).collect()
}

#[tokio::test]
async fn a_resend_after_a_reused_connection_is_the_librarys_and_another_the_applications() {
    for (is_reused, fault, cause) in [
        (true, Fault::LoseResponse, "by themselves"),
        (false, Fault::Refuse, "the application"),
    ] {
        let stack = TestStack::start().await;
        let mut connection = connect(&stack).await;
        if is_reused {
            assert!(request(&mut connection).await.starts_with(ANSWERED));
        }
        arm(&stack, PROVIDERS, fault);
        assert!(request(&mut connection).await.is_empty(), "{fault:?}");
        assert!(resends(&stack).is_empty(), "nothing came again");
        for _ in 0..2 {
            let answer = request(&mut connect(&stack).await).await;
            assert!(answer.starts_with(ANSWERED), "{fault:?}");
        }
        let [resend] = &resends(&stack)[..] else {
            panic!("one came again, and later ones are calls like any other");
        };
        assert_eq!((resend.operation.as_str(), resend.fault), (PROVIDERS, None));
        assert!(resend.why.is_some_and(|why| why.contains(cause)), "{cause}");
    }
}

#[tokio::test]
async fn half_a_body_arrives_and_no_more() {
    let stack = TestStack::start().await;
    let whole = stack.backend.providers().await.body;
    arm(&stack, PROVIDERS, Fault::Truncate);
    let mut connection = connect(&stack).await;
    connection.write_all(REQUEST).await.expect("it is open");
    let mut received = Vec::new();
    let _ = connection.read_to_end(&mut received).await;
    let received = String::from_utf8_lossy(&received);
    let (head, body) = received.split_once("\r\n\r\n").expect("a whole head");
    assert!(
        head.contains(&format!("content-length: {}", whole.len())),
        "{head}"
    );
    assert_eq!(body.as_bytes(), &whole[..whole.len() / 2]);
}
