//! A client can cause no panic. A program of its own, because the panic hook belongs to the
//! process.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a failure may panic, in its helpers too"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

use mock_upstream::{Client, MockUpstream, Settings};

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
    let client = Client::new("id", "secret", ["http://127.0.0.1:8000/callback"]).unwrap();
    let settings = Settings::new(client.clone(), client);
    let mock = MockUpstream::start(settings).await.unwrap();
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
