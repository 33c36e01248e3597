//! Pages at the origin of a callback on this machine where nothing else listens.
//!
//! One begins a login: a broker may ask for a confirmation when the browser does not
//! come from the application. One welcomes the browser back: a real browser whose
//! connection is refused there goes back by itself and starts the login again.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::http::is_http_loopback;

/// The path of the page that begins a login.
const START_PATH: &str = "/begin-the-conformance-login";

const WELCOME_PAGE: &str = "<!doctype html><title>Back</title><p>You are back. Copy the address \
                            of this page for the conformance run.";

/// Listens until it is dropped.
pub(super) struct CallbackServer {
    listeners: Vec<JoinHandle<()>>,
    start_page: Option<String>,
}

struct Pages {
    callback_path: String,
    start: String,
}

impl CallbackServer {
    /// Listens at `callback`, if that is on this machine and free, with a page that
    /// links to `url`.
    pub(super) async fn start(callback: &str, url: &str) -> Self {
        let here = Url::parse(callback).ok();
        let here = here.filter(|_| is_http_loopback(callback));
        let mut server = Self {
            listeners: Vec::new(),
            start_page: None,
        };
        let (Some(here), Ok(url)) = (here, Url::parse(url)) else {
            return server;
        };
        let pages = Arc::new(Pages {
            callback_path: here.path().to_owned(),
            start: start_page(&url),
        });
        let port = here.port_or_known_default().unwrap_or(80);
        for ip in ["127.0.0.1", "::1"] {
            if let Ok(listener) = TcpListener::bind((ip, port)).await {
                let accepting = accept(listener, pages.clone());
                server.listeners.push(tokio::spawn(accepting));
            }
        }
        let is_ours = !server.listeners.is_empty() && here.path() != START_PATH;
        let origin = here.origin().ascii_serialization();
        server.start_page = is_ours.then(|| format!("{origin}{START_PATH}"));
        server
    }

    /// The address of a page whose only link begins the login, if this server listens.
    pub(super) fn start_page(&self) -> Option<&str> {
        self.start_page.as_deref()
    }
}

/// A parsed URL has no quotes and no brackets: only `&` is escaped.
fn start_page(url: &Url) -> String {
    let url = url.as_str().replace('&', "&amp;");
    format!("<!doctype html><title>Begin</title><p><a href=\"{url}\">Begin the login</a>")
}

impl Drop for CallbackServer {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

async fn accept(listener: TcpListener, pages: Arc<Pages>) {
    while let Ok((browser, _)) = listener.accept().await {
        tokio::spawn(show(browser, pages.clone()));
    }
}

/// Answers any request with a page.
async fn show(mut browser: TcpStream, pages: Arc<Pages>) {
    let mut request = [0; 4096];
    let length = browser.read(&mut request).await.unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..length]);
    let page = match request.split([' ', '?']).nth(1) {
        Some(START_PATH) if pages.callback_path != START_PATH => &pages.start,
        _ => WELCOME_PAGE,
    };
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = browser.write_all(response.as_bytes()).await;
}
