//! A broker without a socket, the values that it accepts, and the invariants of its
//! responses. The condition for any change: the request contains credentials, a
//! bearer token or a cookie that the broker has issued, read from the request itself.

use std::cell::RefCell;
use std::collections::HashSet;
use std::mem::take;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use broker::audit::{Event, Party};
use broker::clock::Clock;
use broker::model::UnixMs;
use broker::model::grant::NewGrant;
use broker::store::fail_points::FailPoints;
use broker::{Broker, Dependencies};
use contract::{CodeVerifier, HandoffCode, Profile, Provider, Subject};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rocket::http::Method;
use rocket::local::blocking::{Client, LocalResponse};
use serde_json::Value;
use testkit::fresh;
use testkit::fuzz::FuzzRequest;
use testkit::http::Response;
use testkit::server::runtime;
use url::Url;

use crate::storage::test_store::{SharedStore, open_at, upstream_login};
use crate::test_broker::{
    ADA_SECRET, BASE, CALLBACK, LOCAL_CALLBACK, ada, authorize_query, authorize_with, config,
    parameter, recorded, session_body, token_body, verifier, with,
};

/// Two providers that refuse connections.
const GOOGLE: &str = "http://127.0.0.1:1";
const GITHUB: &str = "http://127.0.0.1:2";

pub(crate) const CLIENT: &str = "prj_ada";
pub(crate) const SECRET: &str = ADA_SECRET;
/// A part of every secret in the configuration; no response may contain it.
const MARK: &str = "LeakMark-Ada-";
pub(crate) const CALLBACKS: [&str; 2] = [LOCAL_CALLBACK, CALLBACK];

/// The provider's subject of every user: a number that no document mentions.
const USER: &str = "271828182845";

/// The time that passes with each request, so that its rows are swept in time.
const INTERVAL: Duration = Duration::from_millis(100);

/// The broker, called without a socket.
pub(crate) struct FuzzedBroker {
    client: Client,
    clock: Clock,
    store: SharedStore,
    events: Arc<Mutex<Vec<Event>>>,
    issued: RefCell<Issued>,
}

impl FuzzedBroker {
    pub(crate) fn start() -> Self {
        let store = open_at("sqlite::memory:", FailPoints::NONE);
        let clock = Clock::fixed_at(UnixMs(1_800_000_000_000));
        let (audit, events) = recorded();
        let dependencies = Dependencies {
            clock: clock.clone(),
            audit,
            store: Some(store.clone()),
            ..Dependencies::default()
        };
        let mut config = config(GOOGLE, GITHUB);
        // Most requests bear a wrong one.
        config.limits.wrong_secrets_per_minute = NonZeroU32::MAX;
        let broker = Broker::assemble(config, dependencies).unwrap();
        Self {
            client: Client::untracked(broker.rocket()).unwrap(),
            clock,
            store,
            events,
            issued: RefCell::default(),
        }
    }

    /// The response to `request`, and the audit events meanwhile, without any check.
    pub(crate) fn send(&self, request: &FuzzRequest) -> (Response, Vec<Event>) {
        self.clock.advance(INTERVAL);
        take(&mut *self.events.lock().unwrap());
        let response = read(request.send(&self.client));
        (response, take(&mut self.events.lock().unwrap()))
    }

    /// The response to a JSON body, and the rule that refused it.
    pub(crate) fn post(&self, path: &str, body: &str) -> (Response, Option<&'static str>) {
        let head = format!("POST {path}\nContent-Type: application/json");
        let request = FuzzRequest::read(head.as_bytes()).unwrap();
        let (response, events) = self.send(&request.with_body(body.as_bytes()));
        let own = own_event(&events, &response).expect("the audit log has it");
        (response, own.rule.map(contract::Rule::id))
    }

    /// Sends `request` and checks the response. Returns its status, and whether the
    /// request has changed anything.
    pub(crate) fn check(&self, request: &FuzzRequest) -> (u16, bool) {
        let (response, events) = self.send(request);
        let has_changed = events.iter().any(Event::committed);
        let violation = is_documented(request, &response)
            .and_then(|()| is_logged_without_fault(&events, &response))
            .and_then(|()| self.changes_only_if_entitled(request, &response, has_changed))
            .and_then(|()| leaks_nothing(&response));
        if let Err(violation) = violation {
            panic!("{violation}\n{request:?}\n{response:?}");
        }
        (response.status, has_changed)
    }

    /// Only what was granted changes anything: a redirect, or a response to a POST; and
    /// only for a request that is entitled to it.
    fn changes_only_if_entitled(
        &self,
        request: &FuzzRequest,
        response: &Response,
        has_changed: bool,
    ) -> Invariant {
        let issued = self.issued.borrow();
        let may_change = match response.status {
            200 => request.method == Method::Post,
            status => status == 303,
        };
        let is_entitled = is_entitled(request, &issued);
        holds(may_change || !has_changed, "a refusal changed something")?;
        holds(!has_changed || is_entitled, "changed without entitlement")?;
        let has_profile = response.status == 200 && response.text().contains(USER);
        let may_read = has_bearer(request, &issued);
        holds(!has_profile || may_read, "a profile without entitlement")
    }

    /// The handle of a login that no browser has visited.
    pub(crate) fn pending(&self) -> String {
        let body = with(session_body(0), "session_key", fresh::secret());
        let body = with(body, "redirect_uri", CALLBACKS[0]);
        let url = self.granted("/v1/login/session", &body, "authorization_url");
        url.rsplit('/').next().unwrap().to_owned()
    }

    /// A valid access token.
    pub(crate) fn token(&self) -> String {
        let (code, now) = (fresh::secret(), self.clock.now());
        let challenge = verifier().parse::<CodeVerifier>().unwrap().challenge();
        let user = Profile {
            subject: Subject::of(Provider::GitHub, USER),
            provider_subject: USER.to_owned(),
            ..ada()
        };
        let digest = code.parse::<HandoffCode>().unwrap().digest();
        let grant = NewGrant::of(&upstream_login(7, now), &challenge, user, digest, now);
        runtime().block_on(self.store.issue(grant)).unwrap();
        let token = self.granted("/v1/token", &token_body(&code), "access_token");
        self.issued(token)
    }

    /// The cookie of a browser that the broker sent from `target` to the provider, and the
    /// state with which it comes back.
    pub(crate) fn upstream_login(&self, target: &str) -> (String, String) {
        let visit = FuzzRequest::read(format!("GET {target}").as_bytes());
        let (redirect, _) = self.send(&visit.unwrap());
        let cookie = redirect.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let url = redirect.location().expect("a redirect to the provider");
        let state = parameter(url, "state");
        (self.issued(cookie), state.expect("its state"))
    }

    fn granted(&self, path: &str, body: &Value, field: &str) -> String {
        let (response, _) = self.post(path, &body.to_string());
        response.json()[field].as_str().expect(field).to_owned()
    }

    /// Remembers that the broker accepts `value`, and returns it.
    fn issued(&self, value: String) -> String {
        self.issued.borrow_mut().insert(value.clone());
        value
    }
}

/// The target at which a browser of the legacy flow begins.
pub(crate) fn authorize() -> String {
    let fresh = authorize_query()
        .into_iter()
        .map(|(name, value)| match name {
            "state" => (name, fresh::secret()),
            _ => (name, value),
        });
    authorize_with(&fresh.collect::<Vec<_>>())
}

/// A violated invariant, in a word.
type Invariant = Result<(), String>;

fn holds(holds: bool, violation: &str) -> Invariant {
    match holds {
        true => Ok(()),
        false => Err(violation.to_owned()),
    }
}

fn own_event<'e>(events: &'e [Event], response: &Response) -> Option<&'e Event> {
    let id = response
        .header("x-request-id")
        .expect("every answer has one");
    let mut events = events.iter();
    events.find(|event| event.to == Party::Broker && event.request_id == id)
}

/// No fault of the broker; and the audit log has the status and the rule.
fn is_logged_without_fault(events: &[Event], response: &Response) -> Invariant {
    let own = own_event(events, response).ok_or("the audit log has nothing")?;
    let rule = own.rule.map(contract::Rule::id);
    let has_status = own.status == Some(response.status);
    holds(has_status, "the audit log has another")?;
    let has_reason = response.status < 400 || rule.is_some();
    holds(has_reason, "refused by no rule")?;
    let is_prefetch = rule == Some("request.prefetch");
    holds(response.status < 500 || is_prefetch, "a fault of ours")?;
    let is_marked = format!("{events:?}").contains(MARK);
    holds(!is_marked, "a secret is in the audit log")
}

fn is_documented(request: &FuzzRequest, response: &Response) -> Invariant {
    let method = request.method.as_str().parse().unwrap();
    let documented = testkit::openapi::check(&method, request.target.path(), response);
    documented.map_err(|violation| format!("the contract does not document it: {violation}"))
}

fn leaks_nothing(response: &Response) -> Invariant {
    let is_marked = format!("{response:?}").contains(MARK);
    holds(!is_marked, "a secret is in the response")?;
    let leads_elsewhere = response
        .location()
        .is_some_and(|it| !is_allowed_redirect(it));
    holds(!leads_elsewhere, "it redirects elsewhere")
}

/// Whether a browser may be redirected there: to a callback, at once or over the broker's own
/// address, or to a provider.
fn is_allowed_redirect(location: &str) -> bool {
    let is_at = |start: &str, ends: &[char]| {
        let rest = location.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
    };
    // The broker's own address that ends a fragment on the way to a callback.
    let over_return = location.starts_with(&format!("{BASE}/return?"))
        && parameter(location, "redirect_uri").is_some_and(|it| CALLBACKS.contains(&&*it));
    let to_callback = CALLBACKS.iter().any(|callback| is_at(callback, &['?']));
    to_callback || over_return || is_at(GITHUB, &['/'])
}

fn read(response: LocalResponse<'_>) -> Response {
    let mut headers = HeaderMap::new();
    for header in response.headers().iter() {
        // A header that cannot be written would end the connection.
        let name: HeaderName = header.name().as_str().parse().unwrap();
        let value = HeaderValue::from_bytes(header.value().as_bytes()).unwrap();
        headers.append(name, value);
    }
    Response {
        status: response.status().code,
        headers,
        body: response.into_bytes().unwrap_or_default(),
    }
}

/// Every token and cookie that is valid at the fuzzed broker.
type Issued = HashSet<String>;

/// Whether `request` is entitled to change something. No seed has a result or a code to
/// consume.
fn is_entitled(request: &FuzzRequest, issued: &Issued) -> bool {
    let path = request.target.path();
    match &request.method {
        Method::Get if path.starts_with("/login/") => is_vouched_for(request),
        Method::Get if path.starts_with("/callback/") => has_cookie(request, issued),
        Method::Post if path.starts_with("/login/") => is_from_own_page(request),
        Method::Post if path.starts_with("/callback/") => {
            is_from_own_page(request) && has_cookie(request, issued)
        }
        Method::Post if path == "/v1/revoke" => has_bearer(request, issued),
        Method::Post if path == "/v1/login/session" => has_credentials(request),
        _ => false,
    }
}

/// Whether it has one bearer token, and the broker issued it.
fn has_bearer(request: &FuzzRequest, issued: &Issued) -> bool {
    let [line] = values(request, "authorization")[..] else {
        return false;
    };
    let Some((scheme, token)) = line.split_once(' ') else {
        return false;
    };
    scheme.eq_ignore_ascii_case("bearer") && issued.contains(token.trim_matches(' '))
}

/// Whether one of its cookies is, byte for byte, one that the broker set.
fn has_cookie(request: &FuzzRequest, issued: &Issued) -> bool {
    let lines = values(request, "cookie");
    let mut cookies = lines.iter().flat_map(|line| line.split(';'));
    cookies.any(|cookie| issued.contains(cookie.trim_ascii()))
}

fn is_vouched_for(request: &FuzzRequest) -> bool {
    let origin = |page: &str| Url::parse(page).map(|url| url.origin()).ok();
    let pages = values(request, "referer");
    let from_consumer = pages.len() == 1 && origin(pages[0]) == origin(CALLBACKS[0]);
    let site = values(request, "sec-fetch-site");
    from_consumer
        && values(request, "sec-fetch-mode") == ["navigate"]
        && values(request, "sec-fetch-dest") == ["document"]
        && site.len() == 1
        && site != ["none"]
}

fn is_from_own_page(request: &FuzzRequest) -> bool {
    let sites = values(request, "sec-fetch-site");
    values(request, "origin") == [BASE] && sites.iter().all(|site| *site == "same-origin")
}

fn has_credentials(request: &FuzzRequest) -> bool {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    body["client_id"] == CLIENT && body["client_secret"] == SECRET
}

fn values<'r>(request: &'r FuzzRequest, name: &str) -> Vec<&'r str> {
    let own = request.headers.iter().filter(|header| header.0 == name);
    own.map(|(_, value)| value.as_str()).collect()
}
