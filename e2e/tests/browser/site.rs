//! A site of a test's own: a few pages and redirects, under any name of this machine
//! (Chromium resolves every `….localhost` by itself).

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The response at a path.
#[derive(Debug, Clone)]
pub(crate) enum At {
    /// A page.
    Page(String),
    /// A redirect.
    Onward(String),
    /// A page whose answer has these `Set-Cookie` lines, byte for byte.
    Cookies(Vec<Vec<u8>>),
}

/// A running site.
pub(crate) struct Site {
    origin: String,
    address: SocketAddr,
    content: Arc<Mutex<HashMap<String, At>>>,
}

impl Site {
    /// A site called `host`.
    pub(crate) async fn called(host: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let content = Arc::new(Mutex::default());
        tokio::spawn(serve(listener, Arc::clone(&content)));
        Self {
            origin: format!("http://{host}:{}", address.port()),
            address,
            content,
        }
    }

    /// The address of `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Puts a page that contains `html` at `path`.
    pub(crate) fn shows(&self, path: &str, html: &str) {
        let page = format!("<!DOCTYPE html><html lang=\"en\"><title>Site</title>{html}");
        self.put(path, At::Page(page));
    }

    /// Lets `path` lead to `url`.
    pub(crate) fn leads(&self, path: &str, url: &str) {
        self.put(path, At::Onward(url.to_owned()));
    }

    /// Has `path` answer with these `Set-Cookie` lines.
    pub(crate) fn sets_cookies<L: Into<Vec<u8>>>(&self, path: &str, lines: Vec<L>) {
        let lines = lines.into_iter().map(Into::into).collect();
        self.put(path, At::Cookies(lines));
    }

    /// The address it listens on, under whatever name it is reached.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn put(&self, path: &str, at: At) {
        self.content.lock().unwrap().insert(path.to_owned(), at);
    }
}

async fn serve(listener: TcpListener, content: Arc<Mutex<HashMap<String, At>>>) {
    while let Ok((client, _)) = listener.accept().await {
        let content = Arc::clone(&content);
        let service = service_fn(move |request: Request<Incoming>| {
            let at = content.lock().unwrap().get(request.uri().path()).cloned();
            async move { Ok::<_, Infallible>(answer(at)) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(client), service));
    }
}

fn answer(at: Option<At>) -> Response<Full<Bytes>> {
    let response = match &at {
        Some(At::Page(_)) => Response::builder().header(CONTENT_TYPE, "text/html; charset=utf-8"),
        Some(At::Onward(url)) => Response::builder()
            .status(StatusCode::FOUND)
            .header(LOCATION, url),
        Some(At::Cookies(lines)) => lines.iter().fold(Response::builder(), |response, line| {
            let line = HeaderValue::from_bytes(line).unwrap();
            response.header(SET_COOKIE, line)
        }),
        None => Response::builder().status(StatusCode::NOT_FOUND),
    };
    let body = match at {
        Some(At::Page(html)) => html,
        _ => String::new(),
    };
    response.body(Full::from(body)).unwrap()
}
