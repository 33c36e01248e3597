//! A browser's upstream logins, sealed in its cookies: one cookie per upstream login, so that two
//! tabs do not disturb each other.

use contract::{CodeChallenge, Digest, Provider, State};
use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::request::{FromRequest, Outcome};
use rocket::sentinel::Sentinel;
use rocket::time::Duration;
use rocket::{Ignite, Request, Rocket};
use serde::{Deserialize, Serialize};

use crate::Broker;
use crate::cookie_cipher::CookieCipher;
use crate::http::request::cookies;
use crate::model::login_session::BrowserBinding;
use crate::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use crate::model::{LoginId, UnixMs};

/// How many upstream logins a browser keeps; the oldest goes first.
const MOST_UPSTREAM_LOGINS: usize = 8;

/// How many cookies one answer clears at most: a browser that was given hundreds
/// must still get an answer whose head every proxy lets through.
const MOST_CLEARED: usize = 8;

/// Longer than an upstream login counts, so that a late browser is still recognised.
const MAX_AGE_SECONDS: i64 = 1200;

/// The upstream logins that a request's browser holds.
pub(crate) struct UpstreamLogins<'r> {
    jar: &'r CookieJar<'r>,
    cookie_cipher: &'r CookieCipher,
    is_https: bool,
    held: Vec<(String, Option<UpstreamLogin>)>,
}

impl<'r> UpstreamLogins<'r> {
    /// The upstream login that left for `provider` with this upstream `state`.
    pub(crate) fn returning(&self, provider: Provider, state: &str) -> Option<&UpstreamLogin> {
        self.held().find(|upstream_login| {
            upstream_login.provider == provider && upstream_login.upstream_state().matches(state)
        })
    }

    /// The mark of this browser, if it holds an upstream login for the login of `handle`.
    pub(crate) fn browser_of(&self, handle: &Digest) -> Option<BrowserBinding> {
        self.held()
            .find_map(|upstream_login| upstream_login.browser_of(handle))
    }

    /// Gives the browser one more upstream login, and takes its oldest beyond the eighth.
    pub(crate) fn depart(&self, upstream_login: &UpstreamLogin) {
        for name in self.surplus() {
            self.jar.remove(self.cookie(name.to_owned(), String::new()));
        }
        let mut id = upstream_login.id().to_text();
        id.truncate(12);
        let name = format!("{}{id}", prefix(self.is_https));
        let sealed = self.cookie_cipher.encrypt(&name, write(upstream_login));
        self.jar.add(self.cookie(name, sealed));
    }

    fn held(&self) -> impl Iterator<Item = &UpstreamLogin> {
        self.held
            .iter()
            .filter_map(|(_, upstream_login)| upstream_login.as_ref())
    }

    /// The cookies that must go so that one more has room; unreadable ones first.
    fn surplus(&self) -> impl Iterator<Item = &str> {
        let mut oldest_first: Vec<_> = self.held.iter().collect();
        oldest_first.sort_by_key(|(_, upstream_login)| {
            upstream_login
                .as_ref()
                .map(|upstream_login| upstream_login.ends)
        });
        let unreadable = self
            .held
            .iter()
            .filter(|(_, upstream_login)| upstream_login.is_none())
            .count();
        let surplus = (self.held.len() + 1)
            .saturating_sub(MOST_UPSTREAM_LOGINS)
            .max(unreadable);
        oldest_first
            .into_iter()
            .take(surplus.min(MOST_CLEARED))
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

/// The beginning of the name of every upstream login's cookie. Off loopback it binds the
/// cookie to this very host; on plain HTTP a browser would refuse that.
fn prefix(is_https: bool) -> &'static str {
    if is_https {
        "__Host-fsi_trip_"
    } else {
        "fsi_trip_"
    }
}

/// Whether a name can be one that [`UpstreamLogins::depart`] gave: another one could not be
/// cleared, because the answer would spell it differently.
fn is_ours(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for UpstreamLogins<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let broker = request
            .rocket()
            .state::<Broker>()
            .expect("the sentinel saw it");
        let is_https = broker.base_url.is_https();
        let held = cookies::with_prefix(request.headers(), prefix(is_https))
            .filter(|(name, _)| is_ours(name))
            .map(|(name, value)| {
                let opened = broker.cookie_cipher.open(name, value);
                (name.to_owned(), opened.and_then(|text| read(&text)))
            })
            .collect();
        Outcome::Success(UpstreamLogins {
            jar: request.cookies(),
            cookie_cipher: &broker.cookie_cipher,
            is_https,
            held,
        })
    }
}

impl Sentinel for UpstreamLogins<'_> {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}

/// An upstream login as it is sealed. The names are short because the cookie is.
#[derive(Serialize, Deserialize)]
struct Sealed {
    s: String,
    l: String,
    p: Provider,
    c: contract::ClientId,
    u: String,
    e: i64,
    #[serde(flatten)]
    purpose: SealedPurpose,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SealedPurpose {
    Clean { h: String, b: String },
    Legacy { t: State, k: CodeChallenge },
}

fn write(upstream_login: &UpstreamLogin) -> String {
    let sealed = Sealed {
        s: Digest::from_bytes(*upstream_login.seed.expose()).to_text(),
        l: upstream_login.login.as_str().to_owned(),
        p: upstream_login.provider,
        c: upstream_login.project.clone(),
        u: upstream_login.callback.to_text(),
        e: upstream_login.ends.0,
        purpose: match &upstream_login.purpose {
            Purpose::Clean { handle, browser } => SealedPurpose::Clean {
                h: handle.to_text(),
                b: browser.0.to_text(),
            },
            Purpose::Legacy { state, challenge } => SealedPurpose::Legacy {
                t: state.clone(),
                k: challenge.clone(),
            },
        },
    };
    serde_json::to_string(&sealed).expect("it is plain data")
}

fn read(text: &str) -> Option<UpstreamLogin> {
    let sealed: Sealed = serde_json::from_str(text).ok()?;
    Some(UpstreamLogin {
        seed: Seed::from_random(*digest(&sealed.s)?.as_bytes()),
        login: LoginId::kept(sealed.l),
        provider: sealed.p,
        project: sealed.c,
        callback: digest(&sealed.u)?,
        ends: UnixMs(sealed.e),
        purpose: match sealed.purpose {
            SealedPurpose::Clean { h, b } => Purpose::Clean {
                handle: digest(&h)?,
                browser: BrowserBinding(digest(&b)?),
            },
            SealedPurpose::Legacy { t, k } => Purpose::Legacy {
                state: t,
                challenge: k,
            },
        },
    })
}

fn digest(text: &str) -> Option<Digest> {
    text.parse().ok()
}
