//! The parts that both providers share, which know neither of them. Here: a provider with its
//! endpoints, of which the authorization endpoint is the same at both, and the faults of a
//! response.

pub(crate) mod context;

pub(crate) mod authorization;
mod choice;
pub(crate) mod pages;
pub(crate) mod sign_in;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::http::{Request, Response};
use crate::journal::{IdTokenReport, Recipient};
use crate::misbehaviour::{CallbackFault, Effect, ResponseFault};
use crate::settings::{ProviderSettings, RedirectUri};
use crate::{Iss, Provider};
use authorization::{ChoicePage, Grant, Refusal, RequestDetails};
use context::ProviderContext;
use sign_in::SignIns;

/// The parts of a sign-in that one provider does in its own way, and the state that only it has.
pub(crate) trait Protocol: Default + Send + Sync + 'static {
    /// The parameters of an authorization request that the other one does not have.
    type Details: RequestDetails;
    /// The access that an access token gives.
    type Access: Clone + HeapSize + Send;

    /// The URLs that a client is configured with: what each is, and its path.
    const URLS: &'static [(&'static str, &'static str)];

    /// The path of the issuer, whose URL the callback carries as `iss`.
    const ISSUER_PATH: &'static str;

    /// The methods of a path, but for those of the imitation's own pages.
    fn routes(path: &str) -> &'static [Route<Self>];

    /// A new code, and its lifetime in milliseconds.
    fn new_code(settings: &ProviderSettings) -> (String, i64);

    /// The parameters of a callback that describe an error.
    fn error_params(error: &str, description: &str) -> Vec<(&'static str, String)>;

    /// The report on an ID token for this recipient; `None` of a provider that issues none.
    fn id_token_report(
        _provider: &Imitated<Self>,
        _token: &str,
        _recipient: &Recipient<'_>,
    ) -> Option<IdTokenReport> {
        None
    }

    /// Rotates the keys by one step, if it has any.
    fn rotate_keys(&self) {}

    /// The bytes of what it keeps beside sign-ins and tokens.
    fn bytes_held(&self) -> usize {
        0
    }

    /// Forgets what it keeps beside sign-ins and tokens.
    fn reset(&self);
}

/// A method of a path, and the response to it.
pub(crate) type Route<P> = (&'static str, fn(&Imitated<P>, &Request) -> Response);

/// An imitated provider, with the sign-ins, the codes and the tokens that it issued.
pub(crate) struct Imitated<P: Protocol> {
    pub(crate) context: Arc<ProviderContext>,
    pub(crate) sign_ins: SignIns<P::Details>,
    pub(crate) tokens: ExpiringStore<P::Access>,
    pub(crate) own: P,
}

/// An imitated provider, whichever it is.
pub(crate) trait Endpoints: Send + Sync {
    /// Responds to one request without waiting.
    fn respond(&self, request: &Request) -> Response;

    /// The URLs that a client is configured with, by what they are.
    fn urls(&self) -> Vec<(&'static str, String)>;

    /// The report on an ID token for this recipient; `None` of a provider that issues none.
    fn id_token_report(&self, token: &str, recipient: &Recipient<'_>) -> Option<IdTokenReport>;

    /// Rotates the keys by one step, if it has any.
    fn rotate_keys(&self);

    /// The bytes that pending sign-ins, codes and tokens take.
    fn bytes_held(&self) -> usize;

    /// Forgets pending sign-ins, codes and tokens.
    fn reset(&self);
}

impl<P: Protocol> Endpoints for Imitated<P> {
    /// Responds by one of the methods of the request's path, to HEAD as to GET: the server
    /// leaves the body out (RFC 9110, section 9.3.2).
    fn respond(&self, request: &Request) -> Response {
        let routes: &[Route<P>] = match request.path.as_str() {
            pages::HOME_PATH => &[("GET", |it, http| {
                it.sign_ins.home(&it.context, http, &it.urls())
            })],
            pages::SCRIPT_PATH => &[("GET", |_, _| pages::script())],
            pages::SIGN_IN_PATH => &[("POST", Self::choose)],
            pages::FORGET_PATH => &[("POST", |it, http| it.sign_ins.forget(http))],
            path => P::routes(path),
        };
        let method = match request.is_head() {
            true => "GET",
            false => &request.method,
        };
        match routes.iter().find(|(known, _)| *known == method) {
            Some((_, respond)) => respond(self, request),
            None if routes.is_empty() => pages::not_found(self.context.provider),
            None => {
                let names = routes.iter().map(|(method, _)| match *method {
                    "GET" => "GET, HEAD",
                    other => other,
                });
                let allowed = names.collect::<Vec<_>>().join(", ");
                pages::method_not_allowed(self.context.provider, &allowed)
            }
        }
    }

    fn urls(&self) -> Vec<(&'static str, String)> {
        let urls = P::URLS.iter();
        urls.map(|(what, path)| (*what, format!("{}{path}", self.context.url)))
            .collect()
    }

    fn id_token_report(&self, token: &str, recipient: &Recipient<'_>) -> Option<IdTokenReport> {
        P::id_token_report(self, token, recipient)
    }

    fn rotate_keys(&self) {
        self.own.rotate_keys();
    }

    fn bytes_held(&self) -> usize {
        self.sign_ins.bytes_held() + self.tokens.bytes_held() + self.own.bytes_held()
    }

    fn reset(&self) {
        self.sign_ins.clear();
        self.tokens.clear();
        self.own.reset();
    }
}

impl<P: Protocol> Imitated<P> {
    pub(crate) fn new(context: Arc<ProviderContext>) -> Self {
        Self {
            context,
            sign_ins: SignIns::new(),
            tokens: ExpiringStore::default(),
            own: P::default(),
        }
    }

    /// The authorization endpoint.
    pub(crate) fn authorize(&self, http: &Request) -> Response {
        let context = &self.context;
        let request = match P::Details::parse(&http.query, &context.settings) {
            Ok(request) => request,
            Err(Refusal::Page(page)) => return page,
            Err(Refusal::Callback(redirect_uri, error, description)) => {
                let state = http.query.get("state");
                let callback = self.failure(&redirect_uri, state, error, description);
                return Response::redirect(302, callback);
            }
        };
        if http.is_head() {
            // Only a browser that will follow begins a sign-in.
            return Response::html(200, String::new());
        }
        match self.sign_ins.script_of(context, http, &request) {
            Some(script) => Response::redirect(302, self.callback(Grant { request, script })),
            None => match request.page {
                ChoicePage::Never(error) => {
                    let state = request.state.as_deref();
                    Response::redirect(302, self.failure(&request.redirect_uri, state, error, ""))
                }
                _ => self.sign_ins.page(context, http, request),
            },
        }
    }

    /// Receives the choice on the sign-in page.
    fn choose(&self, http: &Request) -> Response {
        self.sign_ins.choose(&self.context, http, |mut grant| {
            grant.request.details.consent();
            self.callback(grant)
        })
    }

    fn callback(&self, grant: Grant<P::Details>) -> String {
        let request = &grant.request;
        match grant.script.effect {
            Some(Effect::Callback(fault)) => match fault {
                CallbackFault::Error(error, description) => {
                    let state = request.state.as_deref();
                    self.failure(&request.redirect_uri, state, error, description)
                }
                CallbackFault::NoCode => {
                    let state = ("state", request.state.as_deref());
                    request.redirect_uri.with_params([state])
                }
                CallbackFault::WrongIssuer => self.success(grant, Some("https://issuer.example")),
            },
            _ => {
                let has_iss = self.context.controls().iss != Iss::Off;
                self.success(grant, has_iss.then(|| self.issuer()).as_deref())
            }
        }
    }

    /// Issues a code for `grant`.
    fn success(&self, grant: Grant<P::Details>, iss: Option<&str>) -> String {
        let (code, lifetime_ms) = P::new_code(&self.context.settings);
        let callback = P::Details::success(&grant, &code, iss);
        let expires_ms = self.context.now_ms() + lifetime_ms;
        self.sign_ins.issue(code, grant, expires_ms);
        callback
    }

    /// The callback with an error.
    fn failure(
        &self,
        redirect_uri: &RedirectUri,
        state: Option<&str>,
        error: &str,
        description: &str,
    ) -> String {
        let known = P::error_params(error, description);
        let known = known
            .iter()
            .map(|(name, value)| (*name, Some(value.as_str())));
        let iss = self.context.iss_is_in_every_callback();
        let iss = iss.then(|| self.issuer());
        redirect_uri.with_params(known.chain([("state", state), ("iss", iss.as_deref())]))
    }

    fn issuer(&self) -> String {
        format!("{}{}", self.context.url, P::ISSUER_PATH)
    }

    /// The access of a token that has not expired.
    pub(crate) fn access(&self, token: &str) -> Option<P::Access> {
        let now_ms = self.context.now_ms();
        self.tokens.read(token, now_ms, P::Access::clone)
    }
}

/// 50 MB of JSON, compressed a thousandfold.
const BOMB: &[u8] = include_bytes!("../bodies/bomb.json.gz");

/// A URL whose host never resolves (RFC 2606).
const ANOTHER_HOST: &str = "https://elsewhere.invalid/token";

/// The response with this fault in place of the `good` one.
pub(crate) fn faulty(fault: ResponseFault, provider: Provider, mut good: Response) -> Response {
    match fault {
        ResponseFault::Delivered(delivery) => Response { delivery, ..good },
        ResponseFault::ErrorPage(status) => pages::server_error(provider, status),
        ResponseFault::NetworkLogin => pages::network_login(provider),
        ResponseFault::FirstHalf => {
            // Under a Content-Length of its own.
            good.body.truncate(good.body.len() / 2);
            good
        }
        ResponseFault::PlainText => good.with_content_type("text/plain; charset=utf-8"),
        ResponseFault::Body(body) => good.with_body(body),
        ResponseFault::EachMemberTwice => match forged_and_good(&good.body) {
            Some(body) => good.with_body(body),
            None => good,
        },
        ResponseFault::GzipBomb => good.with_body(BOMB).with_header("content-encoding", "gzip"),
        ResponseFault::Redirect(status) => Response::redirect(status, ANOTHER_HOST),
    }
}

/// A JSON object with each member twice, forged and good; `None` for any other body.
fn forged_and_good(object: &[u8]) -> Option<String> {
    let good = str::from_utf8(object).ok()?;
    let mut forged: Map<_, _> = serde_json::from_str(good).ok()?;
    for value in forged.values_mut() {
        *value = "forged".into();
    }
    let forged = Value::Object(forged).to_string();
    let (forged, good) = (forged.strip_suffix('}')?, good.strip_prefix('{')?);
    Some(format!("{forged},{good}"))
}
