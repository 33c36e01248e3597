//! The malformed requests that every endpoint refuses, as one table: request, status
//! and rule.
//!
//! An [`Endpoint`] is described by a request that it accepts. [`requests`] lists what
//! may be wrong with it. Each is sent and checked by [`MalformedRequest::send`]; a
//! suite that sees the broker's audit log compares the rule, too.

mod bearer;
mod body;
mod callback;
mod query;

use std::fmt;

use reqwest::Method;
use serde_json::Value;

pub(crate) use bearer::{malformed_bearers, other_schemes};

use testkit::http::{Http, Response};

/// An endpoint, and a request that it accepts.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    method: Method,
    /// The methods of its path beside this one.
    others: &'static [Method],
    path: String,
    input: Input,
}

/// The parts of an accepted request besides method and path.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// An object of JSON.
    Body(Value),
    /// A bearer token.
    Bearer(String),
    /// The parameters of a query.
    Query(Vec<(&'static str, String)>),
    /// Nothing that is checked.
    Nothing,
}

/// The rules by which a request may be refused, as the audit log names them.
type Rules = &'static [&'static str];

/// A request that is refused, and how.
#[derive(Debug, Clone)]
pub(crate) struct MalformedRequest {
    /// Its flaw.
    pub(crate) name: String,
    /// The status of the refusal.
    pub(crate) status: u16,
    rules: Rules,
    method: Method,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Endpoint {
    /// An endpoint that accepts `input`.
    pub(crate) fn new(method: Method, path: impl Into<String>, input: Input) -> Self {
        let path = path.into();
        Self {
            method,
            others: &[],
            path,
            input,
        }
    }

    /// The same endpoint at a path that answers these methods, too.
    #[must_use]
    pub(crate) fn beside(self, others: &'static [Method]) -> Self {
        Self { others, ..self }
    }

    /// The request that it accepts, to be made malformed.
    fn accepted(&self) -> MalformedRequest {
        let mut request = MalformedRequest {
            name: String::new(),
            status: 400,
            rules: &[],
            method: self.method.clone(),
            target: self.path.clone(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        match &self.input {
            Input::Body(body) => {
                request.headers = vec![("content-type", "application/json".to_owned())];
                request.body = body.to_string().into();
            }
            Input::Bearer(token) => {
                request.headers = vec![("authorization", format!("Bearer {token}"))];
            }
            Input::Query(parameters) => {
                request.target += &format!("?{}", query::encode(parameters));
            }
            Input::Nothing => {}
        }
        request
    }

    /// The accepted request, malformed by `change`.
    fn malformed(
        &self,
        (status, rules): (u16, Rules),
        name: impl Into<String>,
        change: impl FnOnce(&mut MalformedRequest),
    ) -> MalformedRequest {
        let mut request = self.accepted();
        (request.status, request.rules, request.name) = (status, rules, name.into());
        change(&mut request);
        request
    }
}

/// Every malformed request of an endpoint.
pub(crate) fn requests(endpoint: &Endpoint) -> Vec<MalformedRequest> {
    let mut requests = of_any_endpoint(endpoint);
    match &endpoint.input {
        Input::Body(body) => requests.extend(body::requests(endpoint, body)),
        Input::Bearer(token) => requests.extend(bearer::requests(endpoint, token)),
        Input::Query(parameters) => requests.extend(query::requests(endpoint, parameters)),
        Input::Nothing => {}
    }
    requests
}

/// Requests that every endpoint refuses.
fn of_any_endpoint(endpoint: &Endpoint) -> Vec<MalformedRequest> {
    let mut requests = Vec::new();
    for (query, rules) in SECRETS_IN_A_QUERY {
        requests.push(endpoint.malformed((400, *rules), *query, |it| {
            let mark = if it.target.contains('?') { '&' } else { '?' };
            it.target += &format!("{mark}{query}");
        }));
    }
    for (name, value) in PREFETCHES {
        let refusal = (503, &["request.prefetch"][..]);
        requests.push(
            endpoint.malformed(refusal, format!("{name}: {value}"), |it| {
                it.headers.push((name, (*value).to_owned()));
            }),
        );
    }
    let is_own = |it: &Method| *it == endpoint.method || endpoint.others.contains(it);
    for method in METHODS.iter().filter(|it| !is_own(it)) {
        let refusal = (405, &["request.method"][..]);
        requests.push(endpoint.malformed(refusal, method.as_str(), |it| {
            it.method = method.clone();
        }));
    }
    let form = "application/x-www-form-urlencoded".to_owned();
    requests.push(
        endpoint.malformed((415, &["body.media_type"]), "a form", |it| {
            it.headers.retain(|(name, _)| *name != "content-type");
            it.headers.push(("content-type", form));
            it.body = b"_method=put".to_vec();
        }),
    );
    requests
}

/// Queries that hold a secret, each with the rule that forbids it.
const SECRETS_IN_A_QUERY: &[(&str, Rules)] = &[
    ("client_secret=x", &["request.secret_in_url"]),
    ("client_secret=", &["request.secret_in_url"]),
    ("client_secret", &["request.secret_in_url"]),
    ("client%5Fsecret=x", &["request.secret_in_url"]),
    ("%63lient_secret=x", &["request.secret_in_url"]),
    ("session_key=x", &["request.secret_in_url"]),
    ("a=b&session_key=x&c=d", &["request.secret_in_url"]),
    ("code_verifier=x", &["request.verifier_in_url"]),
];

/// The ways in which browsers announce a prefetch.
const PREFETCHES: &[(&str, &str)] = &[
    ("sec-purpose", "prefetch"),
    ("sec-purpose", "PREFETCH"),
    ("sec-purpose", "prefetch;prerender"),
    ("sec-purpose", " prefetch ; anonymous-client-ip"),
    ("purpose", "prefetch"),
    ("x-moz", "prefetch"),
];

/// Every method but HEAD, which GET's endpoints answer.
const METHODS: &[Method] = &[
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

impl MalformedRequest {
    /// Whether this is a rule by which it must be refused.
    pub(crate) fn may_be_refused_by(&self, rule: &str) -> bool {
        self.rules.contains(&rule)
    }

    /// Sends it, asserts that the response is a complete refusal with the right
    /// status, and returns the response.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub(crate) async fn send(&self, http: &Http) -> Response {
        let mut request = http.request(self.method.clone(), &self.target);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = request.body(self.body.clone()).send().await;
        assert_eq!(response.status, self.status, "{self}: {response:?}");
        response.is_refusal(self.status);
        response
    }
}

impl fmt::Display for MalformedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.split('?').next().unwrap_or_default();
        write!(f, "{} {path} with {}", self.method, self.name)
    }
}
