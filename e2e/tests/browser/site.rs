//! A site of a test's own: a few pages and redirects, under any name of this
//! machine (Chromium finds every `….localhost` here by itself).

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, LOCATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What is at a path.
#[derive(Debug, Clone)]
pub(crate) enum At {
    /// A page.
    Page(String),
    /// A redirect.
    Onward(String),
}

/// A running site.
pub(crate) struct Site {
    origin: String,
    content: Arc<Mutex<HashMap<String, At>>>,
}

impl Site {
    /// A site called `host`.
    pub(crate) async fn called(host: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let content = Arc::new(Mutex::default());
        tokio::spawn(serve(listener, Arc::clone(&content)));
        Self {
            origin: format!("http://{host}:{port}"),
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
        None => Response::builder().status(StatusCode::NOT_FOUND),
    };
    let body = match at {
        Some(At::Page(html)) => html,
        _ => String::new(),
    };
    response.body(Full::from(body)).unwrap()
}
