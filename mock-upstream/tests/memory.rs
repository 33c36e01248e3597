//! The memory of a mock under load: wiremock keeps every request, and the mock frees them
//! without losing one.
//!
//! This is a binary of its own, because it measures the whole process.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a failure may panic, in its helpers too"
)]

use mock_upstream::{Client, MockUpstream, Settings};
use tokio::task::JoinSet;

const CLIENTS: usize = 8;
const REQUESTS_PER_CLIENT: usize = 400;
const BODY_BYTES: usize = 64 * 1024;

/// All bodies together are 200 MiB; if they were kept, they would take at least that.
const ALLOWED_GROWTH_KIB: u64 = 64 * 1024;

#[tokio::test]
async fn under_load_no_request_is_lost_and_none_is_kept() {
    let client = Client::new("id", "secret", ["http://127.0.0.1:8000/callback"]).unwrap();
    let settings = Settings::new(client.clone(), client);
    let mock = MockUpstream::start(settings).await.unwrap();
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
