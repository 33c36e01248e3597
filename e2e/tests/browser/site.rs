//! A site of a test's own: a few pages and redirects, under any name of this machine
//! (Chromium resolves every `….localhost` by itself).

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

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
    content: Content,
}

impl Site {
    /// A site called `host`.
    pub(crate) async fn called(host: &str) -> Self {
        Self::start("http", host, None).await
    }

    /// A site called `host` over TLS, with a certificate that nobody has signed.
    pub(crate) async fn over_tls(host: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into());
        let tls = TlsAcceptor::from(Arc::new(config.unwrap()));
        Self::start("https", host, Some(tls)).await
    }

    async fn start(scheme: &str, host: &str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let content = Arc::new(Mutex::default());
        tokio::spawn(serve(listener, Arc::clone(&content), tls));
        Self {
            origin: format!("{scheme}://{host}:{port}"),
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

    fn put(&self, path: &str, at: At) {
        self.content.lock().unwrap().insert(path.to_owned(), at);
    }
}

type Content = Arc<Mutex<HashMap<String, At>>>;

async fn serve(listener: TcpListener, content: Content, tls: Option<TlsAcceptor>) {
    while let Ok((client, _)) = listener.accept().await {
        let (content, tls) = (Arc::clone(&content), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => answer_all(client, content).await,
                Some(tls) => answer_all(tls.accept(client).await?, content).await,
            }
            Ok::<_, std::io::Error>(())
        });
    }
}

/// Answers every request of a connection.
async fn answer_all(client: impl AsyncRead + AsyncWrite + Unpin, content: Content) {
    let service = service_fn(|request: Request<Incoming>| {
        let at = content.lock().unwrap().get(request.uri().path()).cloned();
        async move { Ok::<_, Infallible>(answer(at)) }
    });
    let http = http1::Builder::new();
    // A client may leave in the middle.
    let _ = http.serve_connection(TokioIo::new(client), service).await;
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
