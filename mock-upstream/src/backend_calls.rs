//! The last calls of backends, with the sign-in that each belongs to: the exchange of a
//! code, and what is asked with the token. A tool that shows a sign-in shows them.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::google::IdTokenReport;
use crate::http::{Request, Response};
use crate::journal;
use crate::provider::{Endpoints, Recipient};

/// The number of calls that are kept, and of codes and tokens that are known.
const MAX_CALLS: usize = 500;
const MAX_SECRETS: usize = 4_000;

/// The longest body, and the longest `state` and `nonce`, that are kept.
const MAX_BODY_BYTES: usize = 32 * 1024;
const MAX_PARAMETER_BYTES: usize = 512;

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

/// Shows no secrets.
impl fmt::Debug for BackendCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendCall")
            .field("path", &self.path)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// A sign-in, as its codes and tokens are known by it.
#[derive(Clone)]
struct SignIn {
    state: String,
    client_id: String,
    nonce: Option<String>,
}

/// The last calls of one provider.
#[derive(Default)]
pub(crate) struct BackendCalls(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    calls: VecDeque<Arc<BackendCall>>,
    /// By the digest of a `state`, a code or a token.
    sign_ins: HashMap<[u8; 32], SignIn>,
    oldest_first: VecDeque<[u8; 32]>,
}

impl BackendCalls {
    /// The calls, oldest first.
    pub(crate) fn list(&self) -> Vec<Arc<BackendCall>> {
        self.lock().calls.iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        *self.lock() = Calls::default();
    }

    /// Keeps the call, if it belongs to a sign-in, and learns the codes and tokens by which
    /// later calls do.
    pub(crate) fn record(
        &self,
        at: i64,
        request: &Request,
        response: &Response,
        endpoints: &dyn Endpoints,
    ) {
        self.learn_sign_in(request);
        self.learn_code(response);
        let Some(sign_in) = self.sign_in_of(request) else {
            return;
        };
        let answer = json_of(response);
        let text = |name: &str| answer.as_ref()?.get(name)?.as_str();
        let (id_token, access_token) = (text("id_token"), text("access_token"));
        if let Some(token) = access_token {
            self.lock().insert(token, sign_in.clone());
        }
        let call = BackendCall {
            at,
            method: journal::truncated(request.method()),
            path: journal::truncated(request.path()),
            fields: fields_of(request),
            status: response.visible_status(),
            id_token: id_token.and_then(|token| {
                let recipient = Recipient {
                    client_id: &sign_in.client_id,
                    nonce: sign_in.nonce.as_deref(),
                    access_token,
                };
                endpoints.id_token_report(token, &recipient)
            }),
            state: sign_in.state,
            answer,
        };
        self.lock().keep(call);
    }

    /// An authorization request names its `state`, its client and its `nonce`.
    fn learn_sign_in(&self, request: &Request) {
        let query = request.query();
        let short = |name| query.get(name).filter(|it| it.len() <= MAX_PARAMETER_BYTES);
        let (Some(state), Some(client_id)) = (short("state"), short("client_id")) else {
            return;
        };
        let sign_in = SignIn {
            state: state.to_owned(),
            client_id: client_id.to_owned(),
            nonce: short("nonce").map(str::to_owned),
        };
        self.lock().insert(state, sign_in);
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
        if let (Some(code), Some(state)) = (find("code"), find("state")) {
            let mut calls = self.lock();
            if let Some(sign_in) = calls.find(&state) {
                calls.insert(&code, sign_in);
            }
        }
    }

    fn sign_in_of(&self, request: &Request) -> Option<SignIn> {
        let code = request.form_or_json().get("code");
        let token = || {
            let bearer = request.credentials("bearer");
            bearer.or_else(|| request.credentials("token"))
        };
        self.lock().find(code.or_else(token)?)
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0
            .lock()
            .expect("nothing panics while it holds the calls")
    }
}

impl Calls {
    fn find(&self, secret: &str) -> Option<SignIn> {
        self.sign_ins.get(&digest(secret)).cloned()
    }

    fn insert(&mut self, secret: &str, sign_in: SignIn) {
        let key = digest(secret);
        if self.sign_ins.insert(key, sign_in).is_some() {
            return;
        }
        self.oldest_first.push_back(key);
        if self.oldest_first.len() > MAX_SECRETS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.sign_ins.remove(&oldest);
        }
    }

    fn keep(&mut self, call: BackendCall) {
        if self.calls.len() == MAX_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(Arc::new(call));
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

fn json_of(response: &Response) -> Option<Value> {
    let body = Some(&response.body).filter(|it| it.len() <= MAX_BODY_BYTES)?;
    serde_json::from_slice(body).ok()
}

fn fields_of(request: &Request) -> Value {
    let fields = request.form().iter();
    let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value)));
    Value::Object(fields.collect::<Map<_, _>>())
}
