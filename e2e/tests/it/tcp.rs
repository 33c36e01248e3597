//! Bare TCP to the broker's address, or another one, for what no HTTP client would send.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_stack::TestStack;

/// The longest wait for a server that waits for more bytes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends `bytes`, and returns all that comes back until the server closes.
pub(crate) async fn exchange(stack: &TestStack, bytes: &[u8]) -> String {
    exchange_at(stack.broker(), bytes).await
}

/// The same with the server at `url`.
pub(crate) async fn exchange_at(url: &str, bytes: &[u8]) -> String {
    converse(url, bytes, ClientEnd::Wait).await
}

/// Sends `bytes` and closes its side, whatever length they announced.
pub(crate) async fn break_off(stack: &TestStack, bytes: &[u8]) -> String {
    converse(stack.broker(), bytes, ClientEnd::BreakOff).await
}

#[derive(Clone, Copy)]
enum ClientEnd {
    Wait,
    BreakOff,
}

async fn converse(url: &str, bytes: &[u8], end: ClientEnd) -> String {
    let address = url.strip_prefix("http://").expect("plain HTTP");
    let stream = TcpStream::connect(address).await.expect("a listener");
    let (mut reads, mut writes) = stream.into_split();
    let sending = async {
        // A server that has seen enough may close while we are still sending.
        let _ = writes.write_all(bytes).await;
        match end {
            ClientEnd::Wait => {}
            ClientEnd::BreakOff => writes.shutdown().await.unwrap_or_default(),
        }
    };
    let mut received = Vec::new();
    let reading = async {
        let _ = reads.read_to_end(&mut received).await;
    };
    let both = async { tokio::join!(sending, reading) };
    #[expect(
        clippy::disallowed_methods,
        reason = "a broker that never answers must not hang the test"
    )]
    let _ = tokio::time::timeout(PATIENCE, both).await;
    String::from_utf8_lossy(&received).into_owned()
}

/// The statuses of the responses in `said`, in order.
pub(crate) fn statuses(received: &str) -> Vec<u16> {
    received
        .split("HTTP/1.")
        .skip(1)
        .map(|answer| answer[2..5].parse().expect("a status"))
        .collect()
}
