//! Somebody at home: pages at the origin of a callback on this machine where
//! nobody else listens. One begins a login, for a broker may ask whoever does not
//! come from the application. One welcomes who is back: a real browser that is
//! refused there goes back to where it came from by itself, and starts the login
//! again.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::expect;

const PAGE: &str = "<!doctype html><title>Back</title><p>You are back. The address of this page \
                    is what the conformance run wants to know.";

/// Listens as long as it is kept.
pub(super) struct Home {
    listening: Vec<JoinHandle<()>>,
    /// Where the login is begun by a click on the only link.
    start: Option<String>,
}

/// The two pages.
struct Pages {
    callback_path: String,
    start: String,
}

impl Home {
    /// Listens at `callback`, if that is on this machine and free, and begins the
    /// login of `url`.
    pub(super) async fn at(callback: &str, url: &str) -> Self {
        let here = Url::parse(callback).ok();
        let here = here.filter(|it| it.scheme() == "http" && expect::plain_url(callback).is_ok());
        let mut home = Self {
            listening: Vec::new(),
            start: None,
        };
        let (Some(here), Ok(url)) = (here, Url::parse(url)) else {
            return home;
        };
        let pages = Arc::new(Pages {
            callback_path: here.path().to_owned(),
            start: start_page(&url),
        });
        let port = here.port_or_known_default().unwrap_or(80);
        for ip in ["127.0.0.1", "::1"] {
            if let Ok(listener) = TcpListener::bind((ip, port)).await {
                let welcome = welcome(listener, pages.clone());
                home.listening.push(tokio::spawn(welcome));
            }
        }
        let is_ours = !home.listening.is_empty() && here.path() != START;
        home.start = is_ours.then(|| format!("{}{START}", here.origin().ascii_serialization()));
        home
    }

    /// A page whose only link begins the login, if we are at home.
    pub(super) fn start(&self) -> Option<&str> {
        self.start.as_deref()
    }
}

/// Where the page is that begins a login.
const START: &str = "/begin-the-conformance-login";

/// A parsed URL holds no quotes and no brackets; only `&` needs care.
fn start_page(url: &Url) -> String {
    let url = url.as_str().replace('&', "&amp;");
    format!("<!doctype html><title>Begin</title><p><a href=\"{url}\">Begin the login</a>")
}

impl Drop for Home {
    fn drop(&mut self) {
        self.listening.iter().for_each(JoinHandle::abort);
    }
}

async fn welcome(listener: TcpListener, pages: Arc<Pages>) {
    while let Ok((browser, _)) = listener.accept().await {
        tokio::spawn(show(browser, pages.clone()));
    }
}

/// Shows a page to whoever asks for anything.
async fn show(mut browser: TcpStream, pages: Arc<Pages>) {
    let mut asked = [0; 4096];
    let length = browser.read(&mut asked).await.unwrap_or(0);
    let asked = String::from_utf8_lossy(&asked[..length]);
    let page = match asked.split([' ', '?']).nth(1) {
        Some(START) if pages.callback_path != START => &pages.start,
        _ => PAGE,
    };
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = browser.write_all(answer.as_bytes()).await;
}
