//! A server on a raw socket that replies, path by path, with what a test sets: also with bytes
//! that are no HTTP, or with none. And the paths and documents of GitHub, in whose place it
//! stands; Google's are in `upstream.rs`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// One request of the broker.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Call {
    /// The path, without its query.
    pub(crate) fn path(&self) -> &str {
        let target = self.line.split(' ').nth(1).unwrap();
        target.split('?').next().unwrap()
    }

    /// The parameters of the form in its body.
    pub(crate) fn form(&self) -> BTreeMap<String, String> {
        let pairs = url::form_urlencoded::parse(self.body.as_bytes());
        pairs.into_owned().collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A whole response; the connection stays open.
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// These bytes, then the connection is closed.
    Raw(Vec<u8>),
    /// The connection is closed without a byte.
    Close,
    /// Nothing, until the client hangs up.
    Silence,
    /// This reply, once each path was called that number of times.
    Held(&'static [(&'static str, usize)], Box<Reply>),
    /// This reply to as many calls as the test permits.
    Permitted(Box<Reply>),
    /// A head, then these bytes again and again, with a pause between them, until the
    /// client hangs up.
    Endless(&'static [u8], Duration),
}

impl Reply {
    pub(crate) fn of(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Whole {
            status,
            headers: vec![("Content-Type".to_owned(), media_type.to_owned())],
            body: body.into(),
        }
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::of(200, "application/json; charset=utf-8", body.to_string())
    }

    /// The same reply, held until each path was called that number of times.
    pub(crate) fn held_until(self, called: &'static [(&'static str, usize)]) -> Self {
        Self::Held(called, Box::new(self))
    }

    /// The same reply with this header instead of any other of that name.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Whole { headers, .. } = &mut self {
            headers.retain(|(other, _)| other != name);
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// The `Content-Length` of an endless reply: 50 MB.
pub(crate) const ENDLESS_BYTES: usize = 52_428_800;

#[derive(Clone)]
pub(crate) struct FakeProvider {
    pub(crate) address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<BTreeMap<String, Reply>>,
    seen: watch::Sender<Seen>,
    sent: AtomicUsize,
}

/// The events at a server, for which a test or a reply may wait.
#[derive(Default)]
struct Seen {
    calls: Vec<Call>,
    hang_ups: usize,
    permits: usize,
}

impl FakeProvider {
    /// Starts one that replies nothing but 404 yet.
    pub(crate) async fn start() -> Self {
        Self::serve("http", |stream| async { Some(stream) }).await
    }

    /// Starts one over TLS, with this certificate and its key in PEM.
    pub(crate) async fn start_with_tls(certificate: &str, key: &str) -> Self {
        let acceptor = TlsAcceptor::from(tls_config(certificate, key));
        let accept = move |stream| {
            let acceptor = acceptor.clone();
            async move { acceptor.accept(stream).await.ok() }
        };
        Self::serve("https", accept).await
    }

    /// Serves the streams that `accept` makes of connections.
    async fn serve<S, F>(
        scheme: &'static str,
        accept: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + Unpin,
        F: Future<Output = Option<S>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let serving = shared.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (accepted, shared) = (accept(connection), serving.clone());
                tokio::spawn(async move {
                    if let Some(stream) = accepted.await {
                        serve(stream, &shared).await;
                    }
                });
            }
        });
        Self {
            address,
            scheme,
            shared,
        }
    }

    /// Starts a GitHub at which Ada signs in with any code.
    pub(crate) async fn start_github() -> Self {
        let github = Self::start().await;
        github.imitate_github();
        github
    }

    /// Lets Ada sign in with any code.
    pub(crate) fn imitate_github(&self) {
        self.set_reply(TOKEN, github_token());
        self.set_reply(USER, Reply::json(&adas_github_user()));
        self.set_reply(EMAILS, Reply::json(&adas_github_emails()));
    }

    /// Starts a GitHub that issues no token before the test permits it.
    pub(crate) async fn start_slow_github() -> Self {
        let github = Self::start_github().await;
        github.set_reply(TOKEN, Reply::Permitted(Box::new(github_token())));
        github
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Permits this number of further replies.
    pub(crate) fn permit(&self, replies: usize) {
        self.shared.seen.send_modify(|it| it.permits += replies);
    }

    /// Sets the reply to calls of `path`. A path without a reply is answered with 404.
    pub(crate) fn set_reply(&self, path: &str, reply: Reply) {
        let mut replies = self.shared.replies.lock().unwrap();
        replies.insert(path.to_owned(), reply);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.shared.seen.borrow().calls.clone()
    }

    pub(crate) fn calls_to(&self, path: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.path() == path);
        calls
    }

    /// Waits until `path` was called `times` times.
    pub(crate) async fn wait_for_calls(&self, path: &str, times: usize) {
        self.shared.wait_for(|it| it.count(path) >= times).await;
    }

    /// Waits until the client has hung up on a reply that has no end.
    pub(crate) async fn wait_for_hang_up(&self) {
        self.shared.wait_for(|it| it.hang_ups > 0).await;
    }

    /// The number of bytes of endless replies that the sockets accepted.
    pub(crate) fn bytes_sent(&self) -> usize {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// The reply that is set for `path`.
    pub(crate) fn reply(&self, path: &str) -> Reply {
        self.shared.replies.lock().unwrap()[path].clone()
    }

    pub(crate) fn hang_ups(&self) -> usize {
        self.shared.seen.borrow().hang_ups
    }
}

impl Seen {
    /// The number of calls of `path`.
    fn count(&self, path: &str) -> usize {
        self.calls.iter().filter(|it| it.path() == path).count()
    }
}

impl Shared {
    async fn wait_for(&self, is_seen: impl FnMut(&Seen) -> bool) {
        let mut seen = self.seen.subscribe();
        seen.wait_for(is_seen).await.unwrap();
    }

    fn hang_up(&self) {
        self.seen.send_modify(|it| it.hang_ups += 1);
    }

    /// Waits until this reply is due to the call of this number.
    async fn when_due(&self, reply: Reply, number: usize) -> Reply {
        match reply {
            Reply::Held(called, then) => {
                let are_made = |it: &Seen| called.iter().all(|(path, n)| it.count(path) >= *n);
                self.wait_for(are_made).await;
                *then
            }
            Reply::Permitted(then) => {
                self.wait_for(|it| it.permits >= number).await;
                *then
            }
            due => due,
        }
    }
}

/// The TLS of a server with this certificate and its key in PEM.
fn tls_config(certificate: &str, key: &str) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.unwrap()], key.unwrap());
    Arc::new(config.unwrap())
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(stream: S, shared: &Shared) {
    let mut stream = BufReader::new(stream);
    while let Some(call) = read(&mut stream).await {
        let path = call.path().to_owned();
        let reply = shared.replies.lock().unwrap().get(&path).cloned();
        shared.seen.send_modify(|it| it.calls.push(call));
        let number = shared.seen.borrow().count(&path);
        let reply = reply.unwrap_or(Reply::of(404, "text/plain", "nothing here"));
        let reply = shared.when_due(reply, number).await;
        if !send(&mut stream, reply, shared).await {
            return;
        }
    }
}

/// Reads the next request, unless the client hung up.
async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> Option<Call> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
        match line.trim_end() {
            "" => break,
            text => lines.push(text.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Call {
        line: lines[0].clone(),
        head: lines[1..].join("\n").to_lowercase(),
        body: String::from_utf8(body).unwrap(),
    })
}

/// Sends one reply. Returns whether the connection stays open.
async fn send<S>(stream: &mut S, reply: Reply, shared: &Shared) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match reply {
        Reply::Whole {
            status,
            headers,
            body,
        } => {
            let mut head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n", body.len());
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            head += "\r\n";
            let bytes = [head.into_bytes(), body].concat();
            stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok()
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            false
        }
        Reply::Held(..) | Reply::Permitted(_) => unreachable!("`when_due` waits for it"),
        Reply::Close => false,
        Reply::Silence => {
            let _ = stream.read_u8().await;
            shared.hang_up();
            false
        }
        Reply::Endless(bytes, pause) => {
            send_endlessly(stream, bytes, pause, shared).await;
            false
        }
    }
}

async fn send_endlessly(
    stream: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    pause: Duration,
    shared: &Shared,
) {
    let head = format!(
        "HTTP/1.1 200 x\r\nContent-Type: application/json\r\n\
         Content-Length: {ENDLESS_BYTES}\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    #[expect(
        clippy::disallowed_methods,
        reason = "a pause on a socket passes in real time"
    )]
    let mut every = tokio::time::interval(pause);
    while stream.write_all(bytes).await.is_ok() {
        shared.sent.fetch_add(bytes.len(), Ordering::Relaxed);
        every.tick().await;
    }
    shared.hang_up();
}

/// The token endpoint of both providers.
pub(crate) const TOKEN: &str = "/login/oauth/access_token";
pub(crate) const USER: &str = "/user";
pub(crate) const EMAILS: &str = "/user/emails";

pub(crate) const ACCESS_TOKEN: &str = "gho_ScriptedToken7vK2mW9pL4tR8sB3nF6hJ1d";

/// A self-signed certificate for `localhost` and 127.0.0.1, which is no authority.
pub(crate) const CERTIFICATE: &str = include_str!("keys/certificate.pem");
pub(crate) const CERTIFICATE_KEY: &str = include_str!("keys/certificate-key.pem");

pub(crate) fn github_token() -> Reply {
    let answer = json!({ "access_token": ACCESS_TOKEN, "token_type": "bearer", "scope": "" });
    Reply::json(&answer)
}

pub(crate) fn adas_github_user() -> Value {
    json!({ "id": 583_231, "login": "ada", "name": "Ada Lovelace", "email": null,
        "avatar_url": null })
}

pub(crate) fn adas_github_emails() -> Value {
    json!([{ "email": "ada@mail.example", "primary": true, "verified": true,
        "visibility": "private" }])
}
