//! The promises about the whole process, in a program of their own: its memory under load,
//! and that a client can cause no panic. wiremock keeps every request, and the mock frees
//! them without losing one.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a failure may panic, in its helpers too"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

use mock_upstream::{Client, MockUpstream, Settings};
use tokio::task::JoinSet;

async fn started() -> MockUpstream {
    let client = Client::new("id", "secret", ["http://127.0.0.1:8000/callback"]).unwrap();
    let settings = Settings::new(client.clone(), client);
    MockUpstream::start(settings).await.unwrap()
}

const CLIENTS: usize = 8;
const REQUESTS_PER_CLIENT: usize = 400;
const BODY_BYTES: usize = 64 * 1024;

/// All bodies together are 200 MiB; if they were kept, they would take at least that.
const ALLOWED_GROWTH_KIB: u64 = 64 * 1024;

#[tokio::test]
async fn under_load_no_request_is_lost_and_none_is_kept() {
    let mock = started().await;
    let before = resident_kib();
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(send_requests(format!("{}/token", mock.google().url())));
    }
    clients.join_all().await;
    let growth = resident_kib().saturating_sub(before);
    assert!(growth < ALLOWED_GROWTH_KIB, "grew by {growth} KiB");
}

/// The provider refuses each request with 400, which proves that it arrived: a request
/// that matches no mock gets a 404 without a body.
async fn send_requests(url: String) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for _ in 0..REQUESTS_PER_CLIENT {
        let request = http.post(&url).body(vec![b'x'; BODY_BYTES]);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 400);
    }
}

/// The resident memory of the process; 0 where the system does not report it.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Sends `request`, hangs up, and waits for the end of the connection.
fn hang_up_after(address: SocketAddr, request: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    // The end may be a reset.
    let _ = stream.read_to_end(&mut Vec::new());
}

#[tokio::test]
async fn a_client_that_hangs_up_or_names_no_url_causes_no_panic() {
    let mock = started().await;
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        report(info);
    }));
    for _ in 0..10 {
        for request in [
            "POST /token HTTP/1.1\r\nHost: mock\r\nContent-Length: 10\r\n\r\nhalf",
            "POST /token HTTP/1.1\r\nHost: mock\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf",
            "POST /token HTTP/1.1\r\nHost: mock\r\n",
            "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: mock\r\n\r\n",
            "GET http://mock:99999/ HTTP/1.1\r\nHost: mock\r\n\r\n",
        ] {
            hang_up_after(mock.google().address(), request);
        }
    }
    // The server has read all of the above before it answers this one.
    let home = reqwest::Client::builder().no_proxy().build().unwrap();
    let home = home.get(mock.google().url()).send().await.unwrap();
    assert_eq!(home.status(), 200);
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
}
