//! A proxy that changes requests and responses, and a server of whole responses.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use agent::url::parameter;
use broker::clock::Clock;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, SET_COOKIE,
    TRANSFER_ENCODING,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::{Mutex, MutexGuard};
use reqwest::Client;
use serde_json::Value;

use super::replica::{Race, Replica};
use testkit::leak_check::drawn;

/// A whole request.
#[derive(Debug, Clone)]
pub(crate) struct ProxiedRequest {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A whole response.
#[derive(Debug, Clone)]
pub(crate) struct ProxiedResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// What a non-compliant broker remembers of the exchanges that it did not change.
pub(crate) struct Memory {
    clock: Clock,
    /// The first time of each session key, upstream state, challenge, code and token: of
    /// each word that has the length of a secret.
    issued: BTreeMap<String, i64>,
    /// The last answer below 400 to each request.
    answers: BTreeMap<String, ProxiedResponse>,
    /// The cookie that was set with each upstream state.
    pub(crate) cookies: BTreeMap<String, HeaderValue>,
    /// What a flaw itself notes.
    pub(crate) notes: BTreeSet<String>,
}

/// Changes a request, or answers it instead of the broker.
pub(crate) type Before =
    Box<dyn Fn(&mut Memory, &mut ProxiedRequest) -> Option<ProxiedResponse> + Send + Sync>;
/// Changes a response.
pub(crate) type After = Box<dyn Fn(&ProxiedRequest, &mut ProxiedResponse) + Send + Sync>;

/// Whether a request is one that a flaw is about.
type IsWrongAbout = fn(&ProxiedRequest) -> bool;

/// The way in which a broker is not compliant; by default it is.
#[derive(Default)]
pub(crate) struct Flaw {
    pub(crate) before: Option<Before>,
    pub(crate) after: Option<After>,
    /// The requests about which it is wrong when several of them come at once.
    pub(crate) race: Option<(Race, IsWrongAbout)>,
}

/// A broker that replicas of the proxy stand for.
pub(crate) struct FlawedBroker {
    flaw: Flaw,
    memory: Mutex<Memory>,
}

impl FlawedBroker {
    pub(crate) fn new(flaw: Flaw, clock: Clock) -> Arc<Self> {
        let memory = Mutex::new(Memory::of(clock));
        Arc::new(Self { flaw, memory })
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }
}

impl Memory {
    fn of(clock: Clock) -> Self {
        Self {
            clock,
            issued: BTreeMap::new(),
            answers: BTreeMap::new(),
            cookies: BTreeMap::new(),
            notes: BTreeSet::new(),
        }
    }

    pub(crate) fn note(&mut self, request: &ProxiedRequest, response: &ProxiedResponse) {
        if response.status >= 400 {
            return;
        }
        let location = response.location();
        let state = parameter(&location, "state");
        let cookie = response.headers.get(SET_COOKIE).map(HeaderValue::as_bytes);
        let pair = cookie.and_then(|it| it.split(|byte| *byte == b';').next());
        if let (Some(state), Some(pair)) = (&state, pair) {
            let pair = HeaderValue::from_bytes(pair).expect("a part of a header");
            self.cookies.insert(state.clone(), pair);
        }
        let now = self.clock.now().0;
        let (sent, received) = (text(&request.body), text(&response.body));
        for text in [&request.path, &sent, &location, &received] {
            for secret in drawn(text) {
                self.issued.entry(secret.to_owned()).or_insert(now);
            }
        }
        self.answers.insert(request.key(), response.clone());
    }

    /// Whether this is a session key, upstream state, challenge, code or token in use.
    pub(crate) fn knows(&self, it: &str) -> bool {
        self.issued.contains_key(it)
    }

    /// Forgets the answers to requests at `path`.
    pub(crate) fn forget(&mut self, path: &str) {
        self.answers.retain(|key, _| !key.contains(path));
    }

    /// The seconds since the first use; zero for what is unknown.
    pub(crate) fn age(&self, of: &str) -> i64 {
        let start = self.issued.get(of);
        start.map_or(0, |start| (self.clock.now().0 - start) / 1000)
    }

    /// The last answer below 400 to the same request.
    pub(crate) fn answer_to(&self, request: &ProxiedRequest) -> Option<&ProxiedResponse> {
        self.answers.get(&request.key())
    }

    /// Whether the same request was last answered by a pending result.
    pub(crate) fn is_pending(&self, request: &ProxiedRequest) -> bool {
        self.answer_to(request)
            .is_some_and(|it| it.json()["status"] == "pending")
    }
}

impl ProxiedRequest {
    /// Whether the path is this one, with any query.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.path.split('?').next() == Some(path)
    }

    /// Whether a browser brings a provider's answer.
    pub(crate) fn is_upstream_callback(&self) -> bool {
        self.path.starts_with("/callback/")
    }

    /// What makes it the same request as another.
    pub(crate) fn key(&self) -> String {
        let (body, token) = (text(&self.body), self.header("authorization"));
        format!("{} {} {token} {body}", self.method, self.path)
    }

    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A text member of the body; empty if there is none.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_default().to_owned()
    }

    /// The names of the members of the body.
    pub(crate) fn names(&self) -> Vec<String> {
        let members = self.json();
        let members = members.as_object();
        members.map_or_else(Vec::new, |it| it.keys().cloned().collect())
    }

    /// A header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The access token of the header; empty if there is none.
    pub(crate) fn token(&self) -> &str {
        let value = self.header("authorization").strip_prefix("Bearer ");
        value.unwrap_or_default()
    }

    /// A parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        parameter(&format!("http://broker{}", self.path), name)
    }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

impl ProxiedResponse {
    pub(crate) fn of(status: u16, body: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            status,
            headers,
            body: body.as_bytes().to_vec(),
        }
    }

    /// A redirect.
    pub(crate) fn to(location: &str) -> Self {
        let mut response = Self::of(303, "");
        response.locate(location);
        response
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Changes a body that is JSON.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        let mut body = self.json();
        if !body.is_null() {
            change(&mut body);
            self.body = body.to_string().into_bytes();
        }
    }

    pub(crate) fn location(&self) -> String {
        let value = self.headers.get(LOCATION);
        let value = value.and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }

    pub(crate) fn locate(&mut self, location: &str) {
        let value = HeaderValue::from_str(location).expect("a URL");
        self.headers.insert(LOCATION, value);
    }
}

/// Forwards the requests at `listener` to the broker at `target`, changed by its flaw. Each
/// listener is a replica.
pub(crate) fn forward(listener: TcpListener, target: SocketAddr, broker: Arc<FlawedBroker>) {
    let replica = Arc::new(Replica::new(target));
    serve(listener, move |mut request| {
        let (broker, replica) = (broker.clone(), replica.clone());
        async move {
            let flaw = &broker.flaw;
            let instead = flaw.before.as_ref();
            let instead = instead.and_then(|before| before(&mut broker.memory(), &mut request));
            if let Some(response) = instead {
                return response;
            }
            let race = flaw
                .race
                .filter(|(_, is_wrong_about)| is_wrong_about(&request));
            let mut response = match race {
                Some((race, _)) => replica.race(race, &broker, &request).await,
                None => replica.pass(&broker, &request).await,
            };
            if let Some(after) = &flaw.after {
                after(&request, &mut response);
            }
            response
        }
    });
}

pub(crate) async fn send(
    http: &Client,
    target: SocketAddr,
    request: &ProxiedRequest,
) -> ProxiedResponse {
    let url = format!("http://{target}{}", request.path);
    let request = http
        .request(request.method.clone(), url)
        .headers(request.headers.clone())
        .body(request.body.clone());
    let response = agent::http::send(request, usize::MAX).await;
    let mut response = response.expect("the broker answers");
    drop_framing(&mut response.headers);
    ProxiedResponse {
        status: response.status,
        headers: response.headers,
        body: response.body,
    }
}

/// Serves whole requests at `listener` for as long as the test lasts.
pub(crate) fn serve<F, A>(listener: TcpListener, answer: F)
where
    F: Fn(ProxiedRequest) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = ProxiedResponse> + Send,
{
    listener.set_nonblocking(true).expect("a socket");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let _ = client.set_nodelay(true);
            let answer = answer.clone();
            let service = service_fn(move |request| {
                let answer = answer.clone();
                async move { Ok::<_, Infallible>(respond(answer(read(request).await).await)) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(client), service));
        }
    });
}

async fn read(request: Request<Incoming>) -> ProxiedRequest {
    let (mut head, body) = request.into_parts();
    drop_framing(&mut head.headers);
    let path = head.uri.path_and_query();
    ProxiedRequest {
        method: head.method,
        path: path.map_or("/", |path| path.as_str()).to_owned(),
        headers: head.headers,
        body: body
            .collect()
            .await
            .expect("a whole request")
            .to_bytes()
            .to_vec(),
    }
}

fn respond(changed: ProxiedResponse) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(changed.body));
    *response.status_mut() = changed.status.try_into().expect("a status");
    *response.headers_mut() = changed.headers;
    response
}

/// Drops the headers of one connection, and of the body before it was changed.
fn drop_framing(headers: &mut HeaderMap) {
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
}
