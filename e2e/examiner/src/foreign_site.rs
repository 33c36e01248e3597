//! Sites of the attacker's: servers on this machine that the app has nothing to do with.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use agent::browser::Visit;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

use crate::verdict::{Outcome, Stop};

/// The name of the attacker's host: another site than the app, the broker and the providers.
/// Chromium resolves every `….localhost` itself.
const FOREIGN_HOST: &str = "evil.localhost";

/// The part of a request that is read.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// A server that answers each request by a function, and closes. It ends when it is dropped.
pub(crate) struct Site {
    pub(crate) origin: Url,
    server: JoinHandle<()>,
}

impl Site {
    /// A site under `host`, on a port of its own: a sister of what else runs there.
    pub(crate) async fn start(
        host: &str,
        answer: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Outcome<Self> {
        let failed = |error: std::io::Error| {
            Stop::harness(format!(
                "the other site that attacks cannot be started here: {error}"
            ))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let origin = Url::parse(&format!("http://{host}:{port}/"));
        Ok(Self {
            origin: origin.map_err(|_| Stop::harness(format!("{host} is no host")))?,
            server: tokio::spawn(serve(listener, Arc::new(answer))),
        })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, answer: Arc<dyn Fn(&str) -> String + Send + Sync>) {
    // Dropped with the server. A connection that stays silent keeps no other waiting: a
    // browser opens spare ones that it never uses.
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let answer = answer.clone();
        connections.spawn(async move {
            let request = read(&mut stream).await;
            // A client that goes away is no error.
            let _ = stream.write_all(answer(&request).as_bytes()).await;
            let _ = stream.shutdown().await;
        });
    }
}

/// The request, as far as it has come with its head and its announced body.
async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while bytes.len() < MAX_REQUEST_BYTES && !is_whole(&bytes) {
        match stream.read(&mut chunk).await {
            Ok(length @ 1..) => bytes.extend_from_slice(&chunk[..length]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length:"));
    match length.and_then(|it| it.trim().parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => !head.contains("transfer-encoding") || body.ends_with("0\r\n\r\n"),
    }
}

/// A site with pages that lure a browser into requests.
pub(crate) struct ForeignSite {
    site: Site,
    /// The answers, by their paths.
    pages: Arc<Mutex<HashMap<String, String>>>,
}

impl ForeignSite {
    /// A site that is foreign to all others.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::called(FOREIGN_HOST).await
    }

    /// A site under `host`, on a port of its own.
    pub(crate) async fn called(host: &str) -> Outcome<Self> {
        let pages: Arc<Mutex<HashMap<String, String>>> = Arc::default();
        let shown = pages.clone();
        let answer = move |request: &str| {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let pages = shown.lock().unwrap_or_else(PoisonError::into_inner);
            pages.get(path).cloned().unwrap_or_else(not_found)
        };
        let site = Site::start(host, answer).await?;
        Ok(Self { site, pages })
    }

    /// A page with a link, whose id is `go`.
    pub(crate) fn with_link(&self, target: &Url) -> Url {
        let target = escaped(target.as_str());
        let link = format!("<a id=go href=\"{target}\">Free tickets</a>");
        self.put("/link", &link, &[])
    }

    /// A page with a form that makes the request of `visit`; its button has the id `go`.
    pub(crate) fn with_form(&self, visit: &Visit) -> Url {
        let action = escaped(visit.url.as_str());
        let mut html = format!("<form method=post action=\"{action}\">");
        for (name, value) in visit.fields.iter().flatten() {
            let (name, value) = (escaped(name), escaped(value));
            let _ = write!(
                html,
                "<input type=hidden name=\"{name}\" value=\"{value}\">"
            );
        }
        html.push_str("<button id=go>Free tickets</button></form>");
        self.put("/form", &html, &[])
    }

    /// A page that loads `target` as a picture.
    pub(crate) fn with_picture(&self, target: &Url) -> Url {
        let target = escaped(target.as_str());
        let picture = format!("<img alt=\"\" src=\"{target}\">Tickets");
        self.put("/picture", &picture, &[])
    }

    /// A page whose answer sets these cookies, byte for byte.
    pub(crate) fn with_cookies(&self, lines: &[String]) -> Url {
        self.put("/cookies", "Tickets", lines)
    }

    fn put(&self, path: &str, html: &str, cookies: &[String]) -> Url {
        let html = format!("<!DOCTYPE html><html lang=en><title>Tickets</title><p>{html}");
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length: {}\r\n",
            html.len()
        );
        for cookie in cookies {
            let _ = write!(answer, "Set-Cookie: {cookie}\r\n");
        }
        let _ = write!(answer, "\r\n{html}");
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.insert(path.to_owned(), answer);
        let origin = &self.site.origin;
        origin.join(path).unwrap_or_else(|_| origin.clone())
    }
}

/// The answer of a site that has no such page.
pub(crate) fn not_found() -> String {
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::within;

    #[tokio::test]
    async fn a_silent_connection_keeps_no_other_waiting() {
        let site = Site::start("127.0.0.1", |_| not_found()).await.unwrap();
        let address = ("127.0.0.1", site.origin.port().unwrap());
        let _silent = TcpStream::connect(address).await.unwrap();
        let mut other = TcpStream::connect(address).await.unwrap();
        other.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let limit = std::time::Duration::from_secs(5);
        let read = within(limit, other.read_to_end(&mut answer)).await;
        assert!(read.is_some() && answer.starts_with(b"HTTP/1.1 404"));
    }

    #[test]
    fn a_request_is_read_with_its_body() {
        let request = b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\na=1";
        assert!(!is_whole(request));
        assert!(is_whole(&[request, &b"2"[..]].concat()));
    }
}
