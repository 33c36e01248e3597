//! A site of the attacker's: pages under a name of this machine that is another site than
//! the app, the broker and the providers (Chromium resolves every `….localhost` itself).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::browser::Visit;
use crate::verdict::{Outcome, Stop};

/// The name of the attacker's host.
const FOREIGN_HOST: &str = "evil.localhost";

/// A running site.
pub(crate) struct ForeignSite {
    origin: Url,
    pages: Pages,
    server: JoinHandle<()>,
}

type Pages = Arc<Mutex<HashMap<String, Answer>>>;

#[derive(Debug, Clone, Default)]
struct Answer {
    cookies: Vec<String>,
    html: String,
}

impl ForeignSite {
    /// A site that is foreign to all others.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::called(FOREIGN_HOST).await
    }

    /// A site under `host`, on a port of its own: a sister of what else runs there.
    pub(crate) async fn called(host: &str) -> Outcome<Self> {
        let failed = |error: std::io::Error| {
            Stop::harness(format!(
                "the other site that attacks cannot be started here: {error}"
            ))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let origin = Url::parse(&format!("http://{host}:{port}/"));
        let pages = Pages::default();
        Ok(Self {
            origin: origin.map_err(|_| Stop::harness(format!("{host} is no host")))?,
            server: tokio::spawn(serve(listener, pages.clone())),
            pages,
        })
    }

    /// A page with a link, whose id is `go`.
    pub(crate) fn with_link(&self, target: &Url) -> Url {
        let target = escaped(target.as_str());
        self.put(
            "/link",
            &format!("<a id=go href=\"{target}\">Free tickets</a>"),
            &[],
        )
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
        self.put(
            "/picture",
            &format!("<img alt=\"\" src=\"{target}\">Tickets"),
            &[],
        )
    }

    /// A page whose answer sets these cookies, byte for byte.
    pub(crate) fn with_cookies(&self, lines: &[String]) -> Url {
        self.put("/cookies", "Tickets", lines)
    }

    fn put(&self, path: &str, html: &str, cookies: &[String]) -> Url {
        let answer = Answer {
            cookies: cookies.to_vec(),
            html: format!("<!DOCTYPE html><html lang=en><title>Tickets</title><p>{html}"),
        };
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.insert(path.to_owned(), answer);
        self.origin
            .join(path)
            .unwrap_or_else(|_| self.origin.clone())
    }
}

impl Drop for ForeignSite {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, pages: Pages) {
    while let Ok((client, _)) = listener.accept().await {
        // A browser that goes away is no error.
        tokio::spawn(answer(client, pages.clone()));
    }
}

/// Answers one request, and closes: a browser opens spare connections that it never uses.
async fn answer(client: TcpStream, pages: Pages) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let mut first = String::new();
    client.read_line(&mut first).await?;
    let mut line = String::new();
    while client.read_line(&mut line).await? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let found = pages
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(path)
        .cloned();
    let status = if found.is_some() {
        "200 OK"
    } else {
        "404 Not Found"
    };
    let found = found.unwrap_or_default();
    let mut head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length: {}\r\n",
        found.html.len()
    );
    for cookie in &found.cookies {
        let _ = write!(head, "Set-Cookie: {cookie}\r\n");
    }
    head.push_str("\r\n");
    client.write_all(head.as_bytes()).await?;
    client.write_all(found.html.as_bytes()).await?;
    client.shutdown().await
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}
