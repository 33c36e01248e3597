//! A proxy that bends what passes through it, and a server for whatever answers
//! whole requests.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

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

use testkit::http::client;

/// A whole request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// What a wrong broker remembers.
pub(crate) struct Memory {
    pub(crate) clock: Clock,
    pub(crate) known: BTreeSet<String>,
    pub(crate) answers: BTreeMap<String, Answered>,
    pub(crate) times: BTreeMap<String, i64>,
    pub(crate) texts: BTreeMap<String, String>,
}

/// Bends a request on its way, or answers it.
pub(crate) type Before = fn(&mut Memory, &mut Asked) -> Option<Answered>;
/// Bends an answer on its way.
pub(crate) type After = fn(&mut Memory, &Asked, &mut Answered);

impl Asked {
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

    pub(crate) fn authorize(&mut self, value: &str) {
        let value = HeaderValue::from_str(value).expect("visible characters");
        self.headers.insert("authorization", value);
    }
}

impl Answered {
    pub(crate) fn of(status: u16, body: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            status,
            headers,
            body: body.as_bytes().to_vec(),
        }
    }

    /// What our broker says when it refuses.
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

/// Carries what comes to `listener` to the broker at `target`, bent.
pub(crate) fn carry(
    listener: TcpListener,
    target: SocketAddr,
    clock: Clock,
    before: Before,
    after: After,
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
    serve(listener, move |mut asked| {
        let (http, memory) = (http.clone(), memory.clone());
        async move {
            let instead = before(
                &mut memory.lock().unwrap_or_else(PoisonError::into_inner),
                &mut asked,
            );
            let mut answered = match instead {
                Some(answered) => return answered,
                None => forward(&http, target, &asked).await,
            };
            after(
                &mut memory.lock().unwrap_or_else(PoisonError::into_inner),
                &asked,
                &mut answered,
            );
            answered
        }
    });
}

async fn forward(http: &Client, target: SocketAddr, asked: &Asked) -> Answered {
    let response = http
        .request(
            asked.method.clone(),
            format!("http://{target}{}", asked.path),
        )
        .headers(asked.headers.clone())
        .body(asked.body.clone())
        .send()
        .await
        .expect("the broker answers");
    let mut headers = response.headers().clone();
    drop_framing(&mut headers);
    Answered {
        status: response.status().as_u16(),
        headers,
        body: response.bytes().await.expect("a whole answer").to_vec(),
    }
}

/// Serves whole requests at `listener` for as long as the test lasts.
pub(crate) fn serve<F, A>(listener: TcpListener, answer: F)
where
    F: Fn(Asked) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answered> + Send,
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

async fn read(request: Request<Incoming>) -> Asked {
    let (mut head, body) = request.into_parts();
    drop_framing(&mut head.headers);
    let path = head.uri.path_and_query();
    Asked {
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

fn respond(answered: Answered) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(answered.body));
    *response.status_mut() = answered.status.try_into().expect("a status");
    *response.headers_mut() = answered.headers;
    response
}

/// What concerns one connection, or a body before it was bent.
fn drop_framing(headers: &mut HeaderMap) {
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
}
