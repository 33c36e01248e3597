//! The records of a provider: its last requests with their secrets masked, and the last calls
//! of backends with the sign-in that each belongs to. A call is the exchange of a code, or a
//! question asked with the token; a tool that shows a sign-in shows its calls.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::Misbehaviour;
use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::http::{Request, Response};

/// The number of requests that a journal keeps.
pub const CAPACITY: usize = 1_000;

/// The number of calls of backends that are kept.
const MAX_CALLS: usize = 500;

/// The longest body, and the longest `state` and `nonce`, that are kept with a call.
const MAX_BODY_BYTES: usize = 32 * 1024;
const MAX_PARAMETER_BYTES: usize = 512;

/// The maximum length of a path or a query in the journal.
const MAX_CHARACTERS: usize = 4 * 1024;

/// The parameters whose values are masked.
const SECRETS: [&str; 9] = [
    "access_token",
    "client_secret",
    "code",
    "code_challenge",
    "code_verifier",
    "id_token",
    "nonce",
    "state",
    "token",
];

/// One request and the status of its response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The time of the response, in Unix milliseconds.
    pub at: i64,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query with the values of secrets masked, truncated if it is long; empty if
    /// there was none.
    pub query: String,
    /// The status of the response; `null` if the client received none.
    pub status: Option<u16>,
}

/// A call of a backend and its answer, with their secrets.
pub struct BackendCall {
    /// The time of the answer, in Unix milliseconds.
    pub at: i64,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The `state` of the sign-in that the call belongs to.
    pub state: String,
    /// The fields of the request's form.
    pub fields: Value,
    /// The status of the answer; `None` if the client received none.
    pub status: Option<u16>,
    /// The JSON of the answer, if it is JSON and not very long.
    pub answer: Option<Value>,
    /// The ID token of the answer.
    pub id_token: Option<IdTokenReport>,
}

/// A decoded ID token, and the checks of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct IdTokenReport {
    /// The header; null if it cannot be decoded.
    pub header: Value,
    /// The claims; null if they cannot be decoded.
    pub claims: Value,
    /// The checks, in the order in which a client makes them.
    pub checks: Vec<IdTokenCheck>,
}

/// One check of an ID token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdTokenCheck {
    /// The requirement: `iss is the provider`.
    pub requirement: &'static str,
    /// Whether the token meets it.
    pub passed: bool,
    /// The claim that it is about, with the value that a client expects.
    pub expected: Option<(&'static str, Value)>,
}

/// The client that gets an ID token, and what came with the token or asked for it.
pub(crate) struct Recipient<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) nonce: Option<&'a str>,
    pub(crate) access_token: Option<&'a str>,
}

/// Makes the report on an ID token for its recipient.
type Report<'a> = &'a dyn Fn(&str, &Recipient<'_>) -> Option<IdTokenReport>;

/// The records of one provider.
pub(crate) struct Journal {
    entries: Recent<Entry>,
    calls: Recent<Arc<BackendCall>>,
    /// Each with the `state` of its sign-in.
    misbehaviours: Recent<(String, Misbehaviour)>,
    /// By a state, a code or a token: the secret itself, as in the stores of the endpoints.
    sign_ins: ExpiringStore<SignIn>,
}

/// A sign-in, as its codes and tokens are known by it.
#[derive(Clone)]
struct SignIn {
    state: String,
    client_id: String,
    nonce: Option<String>,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self {
            entries: Recent::new(CAPACITY),
            calls: Recent::new(MAX_CALLS),
            misbehaviours: Recent::new(MAX_CALLS),
            sign_ins: ExpiringStore::default(),
        }
    }

    /// The requests, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.list()
    }

    /// The calls of backends, oldest first.
    pub(crate) fn calls(&self) -> Vec<Arc<BackendCall>> {
        self.calls.list()
    }

    /// The misbehaviours of the last sign-ins, each with its `state`, oldest first.
    pub(crate) fn misbehaviours(&self) -> Vec<(String, Misbehaviour)> {
        self.misbehaviours.list()
    }

    /// Records what goes wrong with the sign-in of this `state`.
    pub(crate) fn note_misbehaviour(&self, state: Option<&str>, what: Option<Misbehaviour>) {
        let state = state.filter(|it| it.len() <= MAX_PARAMETER_BYTES);
        let noted = state.map(str::to_owned).zip(what);
        noted.into_iter().for_each(|it| self.misbehaviours.push(it));
    }

    pub(crate) fn clear(&self) {
        self.entries.clear();
        self.calls.clear();
        self.misbehaviours.clear();
        self.sign_ins.clear();
    }

    /// Records a request with its response; if it belongs to a sign-in, also as a call of a
    /// backend, with the `report` on the ID token in the answer.
    pub(crate) fn record(
        &self,
        at: i64,
        request: &Request,
        response: &Response,
        report: Report<'_>,
    ) {
        let entry = Entry {
            at,
            method: truncated(&request.method),
            path: truncated(&request.path),
            query: masked(&request.raw_query),
            status: response.visible_status(),
        };
        self.learn_sign_in(request);
        self.learn_code(response);
        if let Some(sign_in) = self.sign_in_of(request) {
            self.record_call(&entry, sign_in, request, response, report);
        }
        self.entries.push(entry);
    }

    /// Records a call of `sign_in`, and keeps the token by which its later calls are recognised.
    fn record_call(
        &self,
        entry: &Entry,
        sign_in: SignIn,
        request: &Request,
        response: &Response,
        report: Report<'_>,
    ) {
        let answer = json_of(response);
        let text = |name: &str| answer.as_ref()?.get(name)?.as_str();
        let access_token = text("access_token");
        if let Some(token) = access_token {
            self.learn(token, sign_in.clone());
        }
        let recipient = Recipient {
            client_id: &sign_in.client_id,
            nonce: sign_in.nonce.as_deref(),
            access_token,
        };
        self.calls.push(Arc::new(BackendCall {
            at: entry.at,
            method: entry.method.clone(),
            path: entry.path.clone(),
            fields: fields_of(request),
            status: entry.status,
            id_token: text("id_token").and_then(|token| report(token, &recipient)),
            state: sign_in.state,
            answer,
        }));
    }

    /// An authorization request names its `state`, its client and its `nonce`.
    fn learn_sign_in(&self, request: &Request) {
        let query = &request.query;
        let short = |name| query.get(name).filter(|it| it.len() <= MAX_PARAMETER_BYTES);
        let (Some(state), Some(client_id)) = (short("state"), short("client_id")) else {
            return;
        };
        let sign_in = SignIn {
            state: state.to_owned(),
            client_id: client_id.to_owned(),
            nonce: short("nonce").map(str::to_owned),
        };
        self.learn(state, sign_in);
    }

    /// The redirect back to the client carries `code` and `state`.
    fn learn_code(&self, response: &Response) {
        let mut headers = response.headers.iter();
        let location = headers.find(|(name, _)| *name == "location");
        let Some(url) = location.and_then(|(_, url)| Url::parse(url).ok()) else {
            return;
        };
        let find = |name| {
            let mut pairs = url.query_pairs();
            pairs.find_map(|(its, value)| (its == name).then_some(value))
        };
        if let (Some(code), Some(state)) = (find("code"), find("state"))
            && let Some(sign_in) = self.sign_in(&state)
        {
            self.learn(&code, sign_in);
        }
    }

    fn learn(&self, secret: &str, sign_in: SignIn) {
        self.sign_ins.put(secret.to_owned(), sign_in, i64::MAX);
    }

    fn sign_in(&self, secret: &str) -> Option<SignIn> {
        self.sign_ins.read(secret, 0, SignIn::clone)
    }

    fn sign_in_of(&self, request: &Request) -> Option<SignIn> {
        let code = request.form_or_json().get("code");
        let token = || {
            let bearer = request.credentials("bearer");
            bearer.or_else(|| request.credentials("token"))
        };
        self.sign_in(code.or_else(token)?)
    }
}

/// The last values of a kind; one more than `capacity` drops the oldest.
struct Recent<T> {
    capacity: usize,
    values: Mutex<VecDeque<T>>,
}

impl<T: Clone> Recent<T> {
    fn new(capacity: usize) -> Self {
        Self {
            capacity,
            values: Mutex::default(),
        }
    }

    fn push(&self, value: T) {
        self.with(|values| {
            if values.len() == self.capacity {
                values.pop_front();
            }
            values.push_back(value);
        });
    }

    fn list(&self) -> Vec<T> {
        self.with(|values| values.iter().cloned().collect())
    }

    fn clear(&self) {
        self.with(VecDeque::clear);
    }

    fn with<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let values = self.values.lock();
        change(&mut values.expect("nothing panics while it holds the values"))
    }
}

impl HeapSize for SignIn {
    fn heap_bytes(&self) -> usize {
        self.state.len() + self.client_id.len() + self.nonce.heap_bytes()
    }
}

/// Shows no secrets.
impl fmt::Debug for BackendCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendCall")
            .field("path", &self.path)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

fn json_of(response: &Response) -> Option<Value> {
    let body = Some(&response.body).filter(|it| it.len() <= MAX_BODY_BYTES)?;
    serde_json::from_slice(body).ok()
}

fn fields_of(request: &Request) -> Value {
    let fields = request.form.iter();
    fields
        .map(|(name, value)| (name, Value::from(value)))
        .collect()
}

/// `query` with the values of secrets masked, truncated if it is long.
fn masked(query: &str) -> String {
    let pairs: Vec<_> = query.split('&').map(masked_pair).collect();
    truncated(&pairs.join("&"))
}

/// `text` without its end, if it is long.
fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn masked_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=[masked]"),
        _ => pair.to_owned(),
    }
}

/// Compares the decoded name: `c%6Fde` is `code`.
fn is_secret(name: &str) -> bool {
    form_urlencoded::parse(name.as_bytes()).any(|(name, _)| SECRETS.contains(&name.as_ref()))
}
