//! A consumer's application at a stack: a project with a backend, and a site whose
//! pages start its logins. A [`Site`] has a few pages and redirects, under any name of this
//! machine (Chromium resolves every `….localhost` by itself).

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use stack::Stack;
use testkit::backend::{Backend, CleanLogin};
use testkit::http::{Http, client_builder};
use thirtyfour::error::WebDriverResult;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::user::User;

/// The host name of a stack over TLS that has one.
pub(crate) const SHOP: &str = "app.shop.test";

const NAME: &str = "Tickets & More";

/// An application with a site of its own.
pub(crate) struct Application {
    pub(crate) site: Site,
    pub(crate) backend: Backend,
}

impl Application {
    pub(crate) async fn at(stack: &Stack) -> Self {
        Self::guarded(stack, "auto").await
    }

    /// One with this relay guard.
    pub(crate) async fn guarded(stack: &Stack, guard: &str) -> Self {
        let site = Site::called("localhost").await;
        site.shows("/callback", "<h1>Home</h1>");
        let callbacks = [site.url("/callback")];
        let project = json!({ "name": NAME, "redirect_uris": callbacks, "relay_guard": guard });
        let control = format!("{}/api/projects", stack.urls().control);
        let project = http(stack).post(control).json(&project).send().await;
        let backend = Backend::of(&stack.urls().broker, &project.json());
        let http = backend.http.with_client(client(stack));
        Self {
            site,
            backend: Backend { http, ..backend },
        }
    }

    /// Starts a login.
    pub(crate) async fn login(&self) -> CleanLogin {
        self.backend.start_login("google").await
    }

    /// Reads the result of a login.
    pub(crate) async fn result(&self, login: &CleanLogin) -> Value {
        self.backend.result(&login.session_key).await.json()
    }

    /// Asserts that the login has no result yet.
    pub(crate) async fn waits_for(&self, login: &CleanLogin) {
        assert_eq!(self.result(login).await, json!({ "status": "pending" }));
    }

    /// Asserts that the login ended without a user.
    pub(crate) async fn is_denied(&self, login: &CleanLogin) {
        let denied = json!({ "status": "failed", "error": "access_denied" });
        assert_eq!(self.result(login).await, denied);
    }

    /// Waits until the user is asked whether they want to sign in here.
    pub(crate) async fn asks(&self, user: &User<'_>) -> WebDriverResult<()> {
        user.is_asked_to_confirm(NAME, &self.site.url("")).await
    }
}

/// A client that trusts the certificates of `stack`.
pub(crate) fn http(stack: &Stack) -> Http {
    Http::new().with_client(client(stack))
}

pub(crate) fn client(stack: &Stack) -> reqwest::Client {
    let authority = stack.ca_file().map(|file| {
        let pem = std::fs::read(file).unwrap();
        reqwest::Certificate::from_pem(&pem).unwrap()
    });
    let builder = client_builder().tls_certs_merge(authority);
    // Port 0 is the one of the URL.
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    builder.resolve(SHOP, here).build().unwrap()
}

/// A running site.
pub(crate) struct Site {
    origin: String,
    answers: Answers,
}

/// The answer at each path, whose end is that of the connection.
type Answers = Arc<Mutex<HashMap<String, Vec<u8>>>>;

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
        let answers = Arc::default();
        tokio::spawn(serve(listener, Arc::clone(&answers), tls));
        Self {
            origin: format!("{scheme}://{host}:{port}"),
            answers,
        }
    }

    /// The address of `path`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Puts a page that contains `html` at `path`.
    pub(crate) fn shows(&self, path: &str, html: &str) {
        let page = format!("<!DOCTYPE html><html lang=\"en\"><title>Site</title>{html}");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        self.put(path, format!("{head}{page}"));
    }

    /// Lets `path` lead to `url`.
    pub(crate) fn leads(&self, path: &str, url: &str) {
        let redirect = format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\n\r\n");
        self.put(path, redirect);
    }

    /// Has `path` answer with these `Set-Cookie` lines, byte for byte.
    pub(crate) fn sets_cookies<L: AsRef<[u8]>>(&self, path: &str, lines: Vec<L>) {
        let mut answer = b"HTTP/1.1 200 OK\r\n".to_vec();
        for line in lines {
            answer.extend([b"Set-Cookie: ", line.as_ref(), b"\r\n"].concat());
        }
        answer.extend(b"\r\n");
        self.put(path, answer);
    }

    fn put(&self, path: &str, answer: impl Into<Vec<u8>>) {
        let mut answers = self.answers.lock().unwrap();
        answers.insert(path.to_owned(), answer.into());
    }
}

async fn serve(listener: TcpListener, answers: Answers, tls: Option<TlsAcceptor>) {
    while let Ok((client, _)) = listener.accept().await {
        let (answers, tls) = (Arc::clone(&answers), tls.clone());
        tokio::spawn(async move {
            // A client may leave in the middle.
            match tls {
                None => answer(client, answers).await,
                Some(tls) => answer(tls.accept(client).await?, answers).await,
            }
        });
    }
}

/// Answers the request of a connection, and closes it.
async fn answer(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    answers: Answers,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split([' ', '?']).nth(1).unwrap_or_default();
    let answer = answers.lock().unwrap().get(path).cloned();
    let none = || b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec();
    client.write_all(&answer.unwrap_or_else(none)).await?;
    client.shutdown().await
}
