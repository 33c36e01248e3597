//! Faults that keep a client waiting: each as it arrives, its end with the client, and its
//! end with the stack.

use std::time::Duration;

use reqwest::Method;
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackSettings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{RESULT, arm, connect, operation};
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::http::{Http, client};
use testkit::login::GOOGLE;

/// The faults during which a client waits.
const SLOW: [Fault; 4] = [Fault::Silence, Fault::Drip, Fault::Endless, Fault::Delay];

const SESSION: &str = "POST /v1/login/session";

/// A wait that only a failed test exhausts; every slow fault takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a login, whose call meets the armed fault, and returns its connection.
async fn start_by_hand(stack: &TestStack) -> TcpStream {
    let key = testkit::fresh::secret();
    let body = stack.backend.session_body(&key, GOOGLE).to_string();
    let request = format!(
        "POST /v1/login/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = connect(stack).await;
    let sent = connection.write_all(request.as_bytes()).await;
    sent.expect("it is open");
    connection
}

/// Starts a login by a client without patience of its own.
fn start(stack: &TestStack) -> reqwest::RequestBuilder {
    let body = stack
        .backend
        .session_body(&testkit::fresh::secret(), GOOGLE);
    let url = format!("{}/v1/login/session", stack.broker());
    client().post(url).json(&body).timeout(PATIENCE)
}

/// The faults that calls have met, once there are `count`.
async fn met(stack: &Stack, count: usize) -> Vec<&'static str> {
    let mut new = stack.event_log().subscribe();
    loop {
        let events = stack.event_log().events(0, None);
        let met: Vec<_> = events.iter().filter_map(|event| event.fault).collect();
        if met.len() == count {
            return met;
        }
        new.recv().await.expect("an event");
    }
}

/// The status of the last event of a fault, and whether the broker committed. A client of
/// another test may still know the port, and come after it.
fn last_fault(stack: &Stack) -> (Option<u16>, bool) {
    let events = stack.event_log().events(0, None);
    let mut faults = events.iter().filter(|it| it.fault.is_some());
    let fault = faults.next_back().expect("the fault");
    (fault.status, fault.committed)
}

#[tokio::test]
async fn a_silent_connection_stays_open_until_its_client_leaves() {
    let stack = TestStack::start().await;
    arm(&stack, SESSION, Fault::Silence);
    let mut waiting = start_by_hand(&stack).await;
    assert_eq!(met(&stack, 1).await, ["silence"]);
    stack.backend.start_login(GOOGLE).await;
    let nothing = waiting.try_read(&mut [0; 1]).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);

    waiting.shutdown().await.expect("the client leaves");
    let mut received = Vec::new();
    waiting.read_to_end(&mut received).await.expect("its end");
    assert!(received.is_empty(), "{received:?}");
}

/// Whether the client of the login's last call has received the answer.
async fn is_received(stack: &TestStack) -> bool {
    let login = stack.event_log().logins(1).remove(0);
    let login = stack.login_status(&login).await.expect("it is known");
    login.calls.last().expect("a call").is_received
}

#[tokio::test]
async fn a_call_whose_client_stops_to_wait_is_not_heard_and_its_repeat_is_a_resend() {
    for (fault, has_taken_effect) in [
        (Fault::Silence, true),
        (Fault::Delay, true),
        (Fault::Drip, true),
        (Fault::HoldRequest, false),
        (Fault::HoldResponse, true),
    ] {
        let stack = TestStack::start().await;
        let login = stack.completed_login(GOOGLE).await;
        stack.faults().arm(FaultInjection {
            delay: PATIENCE * 2,
            ..FaultInjection::next(operation(RESULT), fault)
        });
        let read = async || stack.backend.result(&login.session_key).await;
        tokio::select! {
            answer = read() => panic!("{answer:?}"),
            met = met(&stack, 1) => assert_eq!(met, [fault.name()]),
        }
        assert_eq!(last_fault(&stack).1, has_taken_effect, "{fault:?}");
        assert!(!is_received(&stack).await, "{fault:?}");
        read().await;
        assert!(is_received(&stack).await, "{fault:?}");
        let events = stack.event_log().events(0, None);
        let resend = events.iter().find(|it| it.resend).expect("a resend");
        assert!(resend.why.is_some_and(|it| it.contains("the application")));
    }
}

#[tokio::test]
async fn an_answer_that_comes_after_its_client_has_left_is_not_heard() {
    for fault in [None, Some(Fault::Delay), Some(Fault::HoldResponse)] {
        let stack = TestStack::start().await;
        if let Some(fault) = fault {
            arm(&stack, SESSION, fault);
        }
        let mut client = start_by_hand(&stack).await;
        client.shutdown().await.expect("the client leaves");
        if fault == Some(Fault::HoldResponse) {
            met(&stack, 1).await;
            stack.faults().clear();
        }
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.expect("its end");
        assert!(received.starts_with(b"HTTP/1.1 200"), "{fault:?}");
        assert!(!is_received(&stack).await, "{fault:?}");
    }
}

#[tokio::test]
async fn a_dripping_answer_has_its_head_at_once_and_its_body_byte_by_byte() {
    let stack = TestStack::start().await;
    arm(&stack, SESSION, Fault::Drip);
    let mut answer = start(&stack).send().await.expect("a head");
    assert_eq!(answer.status(), 200);
    assert!(answer.content_length() > Some(50));
    for byte in [b"{", b"\""] {
        let piece = answer.chunk().await.expect("an open connection");
        assert_eq!(piece.as_deref(), Some(&byte[..]));
    }
    assert_eq!(last_fault(&stack), (Some(200), true));
}

#[tokio::test]
async fn an_answer_without_a_body_does_not_drip() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    arm(&stack, "GET /login/{handle}", Fault::Drip);
    let page = Browser::new().open(&login.authorization_url).await;
    assert_eq!((page.status, page.text()), (303, ""));
    assert_eq!(met(&stack, 1).await, ["drip"]);
    assert!(is_received(&stack).await);
}

#[tokio::test]
async fn an_endless_answer_is_json_that_never_comes() {
    let stack = TestStack::start().await;
    arm(&stack, SESSION, Fault::Endless);
    let mut answer = start(&stack).send().await.expect("a head");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.content_length(), None);
    let mut length = 0;
    while length < 256 * 1024 {
        let piece = answer.chunk().await.expect("it goes on").expect("a piece");
        assert!(piece.iter().all(|byte| *byte == b' '));
        length += piece.len();
    }
    assert_eq!(last_fault(&stack), (Some(200), true));
}

#[tokio::test]
async fn a_reset_does_not_wait_for_a_client_that_waits() {
    let stack = TestStack::start().await;
    let mut waiting = Vec::new();
    for (nth, fault) in SLOW.into_iter().enumerate() {
        stack.faults().arm(FaultInjection {
            delay: PATIENCE * 2,
            ..FaultInjection::next(operation(SESSION), fault)
        });
        waiting.push(start_by_hand(&stack).await);
        met(&stack, nth + 1).await;
    }
    for (method, path) in [
        (Method::DELETE, "/api/faults"),
        (Method::POST, "/api/reset"),
    ] {
        let call = Http::at(&stack.urls().control).request(method, path);
        assert_eq!(call.timeout(PATIENCE).send().await.status, 204);
    }
    assert!(stack.backend.start_login(GOOGLE).await.session_key.len() > 40);
    drop(waiting);
}

#[tokio::test]
async fn a_client_that_waits_is_let_go_when_the_stack_stops() {
    for https in [false, true] {
        for fault in SLOW {
            let settings = StackSettings {
                https,
                ..StackSettings::for_tests()
            };
            let stack = Stack::start(settings).await.expect("free ports");
            stack.faults().arm(FaultInjection {
                delay: PATIENCE * 2,
                ..FaultInjection::next(operation("GET /api/providers"), fault)
            });
            let url = format!("{}/api/providers", stack.urls().broker);
            let insecure = testkit::http::client_builder().tls_danger_accept_invalid_certs(true);
            let request = insecure.build().expect("a client").get(url);
            let waiting = tokio::spawn(async move {
                let answer = request.timeout(PATIENCE).send().await?;
                answer.bytes().await
            });
            met(&stack, 1).await;
            stack.stop().await;
            let error = waiting.await.expect("no panic").expect_err("no answer");
            assert!(!error.is_timeout(), "{fault:?}, https {https}: {error:?}");
        }
    }
}
