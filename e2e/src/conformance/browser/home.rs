//! Somebody at home: a page at a callback on this machine where nobody else
//! listens. A real browser that is refused there goes back to where it came from
//! by itself, and starts the login again.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::conformance::expect;

const PAGE: &str = "<!doctype html><title>Back</title><p>You are back. The address of this page \
                    is what the conformance run wants to know.";

/// Listens as long as it is kept.
pub(super) struct Home(Vec<JoinHandle<()>>);

impl Home {
    /// Listens at `callback`, if that is on this machine and free.
    pub(super) async fn at(callback: &str) -> Self {
        let url = Url::parse(callback).ok();
        let here = url.filter(|url| url.scheme() == "http" && expect::plain_url(callback).is_ok());
        let Some(port) = here.as_ref().and_then(Url::port_or_known_default) else {
            return Self(Vec::new());
        };
        let mut listening = Vec::new();
        for ip in ["127.0.0.1", "::1"] {
            if let Ok(listener) = TcpListener::bind((ip, port)).await {
                listening.push(tokio::spawn(welcome(listener)));
            }
        }
        Self(listening)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

async fn welcome(listener: TcpListener) {
    while let Ok((browser, _)) = listener.accept().await {
        tokio::spawn(show(browser));
    }
}

/// Shows the page to whoever asks for anything.
async fn show(mut browser: TcpStream) {
    let _ = browser.read(&mut [0; 4096]).await;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    );
    let _ = browser.write_all(answer.as_bytes()).await;
}
