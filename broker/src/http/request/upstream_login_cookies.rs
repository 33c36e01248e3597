//! A browser's upstream logins, each encrypted in a cookie of its own, so that two tabs
//! do not disturb each other.

use contract::{CodeChallenge, Digest, Provider, Rule, State};
use rocket::Request;
use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::request::{FromRequest, Outcome};
use rocket::time::Duration;
use serde::{Deserialize, Serialize};

use super::client;
use crate::cookie_cipher::CookieCipher;
use crate::http::context::broker;
use crate::http::response::redirect::SeeOther;
use crate::http::response::refusal::outcome;
use crate::model::login_session::{BrowserBinding, Handle};
use crate::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use crate::model::{LoginId, UnixMs};
use crate::relay::{BrowserTraits, SameTraits};
use crate::sign_in::ProviderRedirect;
use crate::untrusted::Query;

/// The upstream logins that a browser keeps at most; the oldest goes first.
const MAX_UPSTREAM_LOGINS: usize = 8;

/// The cookies that one answer clears at most: a browser that was given hundreds must
/// still get an answer whose head every proxy lets through.
const MAX_CLEARED: usize = 8;

/// Longer than an upstream login is valid, so that a late browser is still recognised.
const MAX_AGE_SECONDS: i64 = 1200;

/// The upstream logins that a browser holds.
pub(crate) struct UpstreamLoginCookies<'r> {
    jar: &'r CookieJar<'r>,
    cookie_cipher: &'r CookieCipher,
    is_https: bool,
    /// The traits of this browser.
    traits: BrowserTraits,
    /// Each cookie's name, with what it holds if it can be decrypted.
    held: Vec<(String, Option<Held>)>,
}

/// The contents of a cookie.
struct Held {
    upstream_login: UpstreamLogin,
    /// The traits of the browser that got the cookie.
    traits: BrowserTraits,
}

impl UpstreamLoginCookies<'_> {
    /// Takes the upstream login that `provider` answers, by the state in the query of
    /// its callback, and compares this browser with the one that got it.
    pub(crate) fn take(
        &mut self,
        provider: Provider,
        query: &Query<'_>,
    ) -> Option<(UpstreamLogin, SameTraits)> {
        let state = query.once("state").ok()??;
        let is_answered = |held: &mut Held| {
            let it = &held.upstream_login;
            it.provider == provider && it.upstream_state().matches(&state)
        };
        let mut held = self.held.iter_mut();
        let held = held.find_map(|(_, held)| held.take_if(is_answered))?;
        Some((held.upstream_login, held.traits.compare(self.traits)))
    }

    /// The binding of this browser, if it holds an upstream login of the session of
    /// `handle`.
    pub(crate) fn browser_of(&self, handle: &Handle) -> Option<BrowserBinding> {
        let handle = handle.digest();
        let mut held = self.held.iter().filter_map(|(_, it)| it.as_ref());
        held.find_map(|it| it.upstream_login.browser_of(&handle))
    }

    /// Redirects to the provider, with a cookie for the upstream login. The empty
    /// fragment ends any fragment that the browser came with, which would otherwise
    /// reach the consumer's callback.
    pub(crate) fn redirect_to_provider(&self, to: &ProviderRedirect) -> SeeOther {
        self.add(&to.upstream_login);
        SeeOther(format!("{}#", to.url))
    }

    /// Adds a cookie, and clears the oldest beyond the eighth.
    fn add(&self, upstream_login: &UpstreamLogin) {
        for name in self.surplus() {
            self.jar.remove(self.cookie(name.to_owned(), String::new()));
        }
        let mut id = upstream_login.id().to_text();
        id.truncate(12);
        let name = format!("{}{id}", prefix(self.is_https));
        let encrypted = self
            .cookie_cipher
            .encrypt(&name, write(upstream_login, self.traits));
        self.jar.add(self.cookie(name, encrypted));
    }

    /// The cookies that must go to make room for one more; unreadable ones first. As long
    /// as there is room, they stay: cookies ignore ports, and another broker on the same
    /// host may read them.
    fn surplus(&self) -> impl Iterator<Item = &str> {
        let mut oldest_first: Vec<_> = self.held.iter().collect();
        oldest_first.sort_by_key(|(_, it)| it.as_ref().map(|it| it.upstream_login.ends));
        let surplus = (self.held.len() + 1).saturating_sub(MAX_UPSTREAM_LOGINS);
        oldest_first
            .into_iter()
            .take(surplus.min(MAX_CLEARED))
            .map(|(name, _)| name.as_str())
    }

    fn cookie(&self, name: String, value: String) -> Cookie<'static> {
        Cookie::build((name, value))
            .path("/")
            .http_only(true)
            // Rocket's default is Strict, which does not come back from a provider.
            .same_site(SameSite::Lax)
            .secure(self.is_https)
            .max_age(Duration::seconds(MAX_AGE_SECONDS))
            .build()
    }
}

/// The prefix of the name of every such cookie. Off loopback it binds the cookie to this
/// very host; on plain HTTP a browser would refuse that.
fn prefix(is_https: bool) -> &'static str {
    if is_https {
        "__Host-fsi_trip_"
    } else {
        "fsi_trip_"
    }
}

/// Whether a name can be one that [`UpstreamLoginCookies::add`] gave. Another could not
/// be cleared, because the answer would spell it differently.
fn is_ours(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for UpstreamLoginCookies<'r> {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        if client::has_unreadable_cookies(request.headers()) {
            return outcome(Err(Rule::RequestCookies), request);
        }
        let broker = broker(request);
        let is_https = broker.core.base_url.is_https();
        let held = client::cookies_with_prefix(request.headers(), prefix(is_https))
            .filter(|(name, _)| is_ours(name))
            .map(|(name, value)| {
                let opened = broker.cookie_cipher.decrypt(name, value);
                (name.to_owned(), opened.and_then(|text| read(&text)))
            })
            .collect();
        Outcome::Success(UpstreamLoginCookies {
            jar: request.cookies(),
            cookie_cipher: &broker.cookie_cipher,
            is_https,
            traits: BrowserTraits::of(&client::look(request.headers()), client::address(request)),
            held,
        })
    }
}

/// The plain text of a cookie. The names are short because the cookie is.
#[derive(Serialize, Deserialize)]
struct Plain {
    s: String,
    l: String,
    p: Provider,
    c: contract::ClientId,
    u: String,
    e: i64,
    /// A broker before this one wrote none: that browser is asked.
    #[serde(default)]
    v: String,
    #[serde(flatten)]
    purpose: PlainPurpose,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PlainPurpose {
    Clean { h: String, b: String },
    Legacy { t: State, k: CodeChallenge },
}

fn write(upstream_login: &UpstreamLogin, traits: BrowserTraits) -> String {
    let plain = Plain {
        s: Digest::from_bytes(*upstream_login.seed.expose()).to_text(),
        l: upstream_login.login.as_str().to_owned(),
        p: upstream_login.provider,
        c: upstream_login.project.clone(),
        u: upstream_login.callback.to_text(),
        e: upstream_login.ends.0,
        v: traits.to_text(),
        purpose: match &upstream_login.purpose {
            Purpose::Clean { handle, browser } => PlainPurpose::Clean {
                h: handle.to_text(),
                b: browser.0.to_text(),
            },
            Purpose::Legacy { state, challenge } => PlainPurpose::Legacy {
                t: state.clone(),
                k: challenge.clone(),
            },
        },
    };
    serde_json::to_string(&plain).expect("an upstream login is plain data")
}

fn read(text: &str) -> Option<Held> {
    let plain: Plain = serde_json::from_str(text).ok()?;
    let traits = BrowserTraits::from_text(&plain.v);
    let upstream_login = UpstreamLogin {
        seed: Seed::from_random(*digest(&plain.s)?.as_bytes()),
        login: LoginId::kept(plain.l),
        provider: plain.p,
        project: plain.c,
        callback: digest(&plain.u)?,
        ends: UnixMs(plain.e),
        purpose: match plain.purpose {
            PlainPurpose::Clean { h, b } => Purpose::Clean {
                handle: digest(&h)?,
                browser: BrowserBinding(digest(&b)?),
            },
            PlainPurpose::Legacy { t, k } => Purpose::Legacy {
                state: t,
                challenge: k,
            },
        },
    };
    Some(Held {
        upstream_login,
        traits,
    })
}

fn digest(text: &str) -> Option<Digest> {
    text.parse().ok()
}
