//! A server on a raw socket that replies, path by path, with what a test sets: also with
//! bytes that are no HTTP, or with none.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

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
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<BTreeMap<String, Reply>>,
    calls: watch::Sender<Vec<Call>>,
    hung_up: watch::Sender<usize>,
    sent: AtomicUsize,
}

impl FakeProvider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let serving = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, serving.clone()));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the reply to calls of `path`. A path without a reply is answered with 404.
    pub(crate) fn set_reply(&self, path: &str, reply: Reply) {
        let mut replies = self.shared.replies.lock().unwrap();
        replies.insert(path.to_owned(), reply);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.shared.calls.borrow().clone()
    }

    pub(crate) fn calls_to(&self, path: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.path() == path);
        calls
    }

    /// Waits until `path` was called `times` times.
    pub(crate) async fn wait_for_calls(&self, path: &str, times: usize) {
        self.shared.wait_for_calls(&[(path, times)]).await;
    }

    /// Waits until the client has hung up on a reply that has no end.
    pub(crate) async fn wait_for_hang_up(&self) {
        let mut times = self.shared.hung_up.subscribe();
        times.wait_for(|times| *times > 0).await.unwrap();
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
        *self.shared.hung_up.borrow()
    }
}

impl Shared {
    async fn wait_for_calls(&self, called: &[(&str, usize)]) {
        let times = |calls: &[Call], path| calls.iter().filter(|it| it.path() == path).count();
        let mut calls = self.calls.subscribe();
        let all = calls.wait_for(|calls| called.iter().all(|(path, n)| times(calls, *path) >= *n));
        all.await.unwrap();
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    while let Some(call) = read(&mut stream).await {
        let reply = shared.replies.lock().unwrap().get(call.path()).cloned();
        shared.calls.send_modify(|calls| calls.push(call));
        let mut reply = reply.unwrap_or(Reply::of(404, "text/plain", "nothing here"));
        while let Reply::Held(called, then) = reply {
            shared.wait_for_calls(called).await;
            reply = *then;
        }
        if !send(&mut stream, reply, &shared).await {
            return;
        }
    }
}

/// Reads the next request, unless the client hung up.
async fn read(stream: &mut BufReader<TcpStream>) -> Option<Call> {
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
async fn send(stream: &mut BufReader<TcpStream>, reply: Reply, shared: &Shared) -> bool {
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
            stream.write_all(&bytes).await.is_ok()
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            false
        }
        Reply::Held(..) => unreachable!("`serve` waits for it"),
        Reply::Close => false,
        Reply::Silence => {
            let _ = stream.read_u8().await;
            shared.hung_up.send_modify(|times| *times += 1);
            false
        }
        Reply::Endless(bytes, pause) => {
            send_endlessly(stream, bytes, pause, shared).await;
            false
        }
    }
}

async fn send_endlessly(
    stream: &mut BufReader<TcpStream>,
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
    shared.hung_up.send_modify(|times| *times += 1);
}
