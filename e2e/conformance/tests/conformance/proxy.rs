//! A proxy that changes requests and responses, and a server of whole responses.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use broker::clock::Clock;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use reqwest::Client;
use serde_json::Value;
use url::form_urlencoded;

use testkit::http::client;

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

/// The memory of a non-compliant broker.
pub(crate) struct Memory {
    pub(crate) clock: Clock,
    pub(crate) known: BTreeSet<String>,
    pub(crate) answers: BTreeMap<String, ProxiedResponse>,
    pub(crate) times: BTreeMap<String, i64>,
    pub(crate) texts: BTreeMap<String, String>,
}

/// Changes a request, or answers it.
pub(crate) type ChangeRequest = fn(&mut Memory, &mut ProxiedRequest) -> Option<ProxiedResponse>;
/// Changes a response.
pub(crate) type ChangeResponse = fn(&mut Memory, &ProxiedRequest, &mut ProxiedResponse);

impl ProxiedRequest {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A text member of the body; empty if there is none.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_default().to_owned()
    }

    /// Puts another text into a member, and leaves the rest byte for byte.
    pub(crate) fn put(&mut self, member: &str, text: &str) {
        let old = self.text(member);
        if old.is_empty() {
            self.edit(|body| body[member] = text.into());
        } else {
            let body = String::from_utf8_lossy(&self.body);
            let body = body.replace(&format!("\"{old}\""), &format!("\"{text}\""));
            self.body = body.into_bytes();
        }
    }

    /// Changes a body that is an object; one that stays the same, stays so byte for
    /// byte.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        let was = self.json();
        let mut body = was.clone();
        if body.is_object() {
            change(&mut body);
        }
        if body != was {
            self.body = body.to_string().into_bytes();
        }
    }

    pub(crate) fn authorization(&self) -> String {
        let value = self.headers.get("authorization");
        let value = value.and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }

    /// The credentials of HTTP Basic authentication.
    pub(crate) fn basic_credentials(&self) -> Option<(String, String)> {
        let authorization = self.authorization();
        let pair = STANDARD
            .decode(authorization.strip_prefix("Basic ")?)
            .ok()?;
        let pair = String::from_utf8(pair).ok()?;
        let (id, secret) = pair.split_once(':')?;
        Some((id.to_owned(), secret.to_owned()))
    }

    /// A parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.path.split_once('?')?;
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let (_, value) = pairs.find(|(known, _)| known == name)?;
        Some(value.into_owned())
    }

    pub(crate) fn drop_query(&mut self) {
        let path = self.path.split('?').next().unwrap_or_default();
        self.path = path.to_owned();
    }

    pub(crate) fn authorize(&mut self, value: &str) {
        let value = HeaderValue::from_str(value).expect("visible characters");
        self.headers.insert("authorization", value);
    }
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

    /// This kit's refusal.
    pub(crate) fn refused(status: u16) -> Self {
        Self::of(status, r#"{"error":"request_failed"}"#)
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
        let value = self.headers.get("location");
        let value = value.and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }

    pub(crate) fn locate(&mut self, location: &str) {
        let value = HeaderValue::from_str(location).expect("a URL");
        self.headers.insert("location", value);
    }
}

/// Forwards the requests at `listener` to the broker at `target`, changed.
pub(crate) fn forward(
    listener: TcpListener,
    target: SocketAddr,
    clock: Clock,
    before: ChangeRequest,
    after: ChangeResponse,
) {
    let http = client();
    let memory = Memory {
        clock,
        known: BTreeSet::new(),
        answers: BTreeMap::new(),
        times: BTreeMap::new(),
        texts: BTreeMap::new(),
    };
    let memory = Arc::new(Mutex::new(memory));
    serve(listener, move |mut request| {
        let (http, memory) = (http.clone(), memory.clone());
        async move {
            let instead = before(
                &mut memory.lock().unwrap_or_else(PoisonError::into_inner),
                &mut request,
            );
            let mut response = match instead {
                Some(response) => return response,
                None => send(&http, target, &request).await,
            };
            after(
                &mut memory.lock().unwrap_or_else(PoisonError::into_inner),
                &request,
                &mut response,
            );
            response
        }
    });
}

async fn send(http: &Client, target: SocketAddr, request: &ProxiedRequest) -> ProxiedResponse {
    let response = http
        .request(
            request.method.clone(),
            format!("http://{target}{}", request.path),
        )
        .headers(request.headers.clone())
        .body(request.body.clone())
        .send()
        .await
        .expect("the broker answers");
    let mut headers = response.headers().clone();
    drop_framing(&mut headers);
    ProxiedResponse {
        status: response.status().as_u16(),
        headers,
        body: response.bytes().await.expect("a whole answer").to_vec(),
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
