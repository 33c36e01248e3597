//! A resent call is recognised, and so is the party that resends it.

use stack::event_log::LoggedEvent;
use stack::faults::Fault;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::arm;
use crate::test_stack::TestStack;

const PROVIDERS: &str = "GET /api/providers";
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
async fn a_call_resent_after_a_failure_on_a_reused_connection_is_the_librarys_retry() {
    let stack = TestStack::start().await;
    let mut used = connect(&stack).await;
    assert!(request(&mut used).await.starts_with(b"HTTP/1.1 200"));
    arm(&stack, PROVIDERS, Fault::LoseResponse);
    assert!(request(&mut used).await.is_empty());
    assert!(
        request(&mut connect(&stack).await)
            .await
            .starts_with(b"HTTP/1.1 200")
    );
    let [resend] = &resends(&stack)[..] else {
        panic!("one came again");
    };
    assert_eq!((resend.operation.as_str(), resend.fault), (PROVIDERS, None));
    assert!(resend.why.is_some_and(|why| why.contains("by themselves")));
}

#[tokio::test]
async fn a_call_resent_after_a_failure_on_a_new_connection_is_the_applications_retry() {
    let stack = TestStack::start().await;
    arm(&stack, PROVIDERS, Fault::Refuse);
    assert!(request(&mut connect(&stack).await).await.is_empty());
    assert!(resends(&stack).is_empty(), "nothing came again");
    for _ in 0..2 {
        request(&mut connect(&stack).await).await;
    }
    let [resend] = &resends(&stack)[..] else {
        panic!("one came again, and later ones are calls like any other");
    };
    assert!(
        resend
            .why
            .is_some_and(|why| why.contains("the application"))
    );
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
