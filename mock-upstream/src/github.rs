//! GitHub: OAuth 2.0 without ID tokens, and a REST API. Here: its addresses, its state, and the
//! authorization server's metadata (RFC 8414).
//!
//! The web pages and the API share one host here. Sources: GitHub's "Authorizing OAuth
//! apps" and its REST API reference.

mod request;

mod api;
mod token;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::json;

use crate::User;
use crate::expiring_store::HeapSize;
use crate::http::Response;
use crate::misbehaviour::Effect;
use crate::provider::{Imitated, Protocol, Route};
use crate::settings::ProviderSettings;
use crate::system::{LOWER_HEX, random_string};
use request::Scopes;

/// The well-known path; the path of the issuer comes last.
const METADATA_PATH: &str = "/.well-known/oauth-authorization-server/login/oauth";
const AUTHORIZATION_PATH: &str = "/login/oauth/authorize";
const TOKEN_PATH: &str = "/login/oauth/access_token";
const USER_PATH: &str = "/user";
const EMAILS_PATH: &str = "/user/emails";

const CODE_LIFETIME_MS: i64 = 10 * 60 * 1000;

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The maximum number of users whose calls are counted; at one more, all counts start again.
const MAX_USERS: usize = 10_000;

/// The imitated GitHub.
pub(crate) type GitHub = Imitated<RestProvider>;

/// The state that Google has none of: the calls of the REST API, by the id of their user.
#[derive(Default)]
pub(crate) struct RestProvider(Mutex<HashMap<String, HourlyCalls>>);

/// The calls of one user within the hour.
#[derive(Clone, Copy)]
struct HourlyCalls {
    used: u32,
    /// The time at which the count starts again.
    resets_ms: i64,
}

/// The access that an access token gives.
#[derive(Clone)]
pub(crate) struct Access {
    user: User,
    scopes: Scopes,
    effect: Option<Effect>,
}

impl HeapSize for Access {
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes() + self.scopes.heap_bytes()
    }
}

impl Protocol for RestProvider {
    type Details = Scopes;
    type Access = Access;

    const URLS: &'static [(&'static str, &'static str)] = &[
        ("authorization endpoint", AUTHORIZATION_PATH),
        ("token endpoint", TOKEN_PATH),
        ("REST API", ""),
        ("user", USER_PATH),
        ("e-mail addresses", EMAILS_PATH),
    ];

    /// The counterpart of `https://github.com/login/oauth`.
    const ISSUER_PATH: &'static str = "/login/oauth";

    fn routes(path: &str) -> &'static [Route<Self>] {
        match path {
            METADATA_PATH => &[("GET", |github, _| github.metadata())],
            AUTHORIZATION_PATH => &[("GET", GitHub::authorize)],
            TOKEN_PATH => &[("POST", GitHub::token)],
            USER_PATH => &[("GET", GitHub::user)],
            EMAILS_PATH => &[("GET", GitHub::emails)],
            _ => &[],
        }
    }

    fn new_code(_settings: &ProviderSettings) -> (String, i64) {
        (random_string(LOWER_HEX, 20), CODE_LIFETIME_MS)
    }

    fn error_params(error: &str, description: &str) -> Vec<(&'static str, String)> {
        let anchor = error.replace('_', "-");
        vec![
            ("error", error.to_owned()),
            ("error_description", description.to_owned()),
            ("error_uri", format!("{}{anchor}", request::ERROR_URI)),
        ]
    }

    fn reset(&self) {
        self.lock().clear();
    }
}

impl RestProvider {
    /// Counts one more call of the user, and returns the count with it.
    fn count(&self, user_id: &str, now_ms: i64) -> HourlyCalls {
        let mut users = self.lock();
        if users.len() == MAX_USERS {
            users.clear();
        }
        let new_hour = HourlyCalls {
            used: 0,
            resets_ms: now_ms + HOUR_MS,
        };
        let calls = users.entry(user_id.to_owned()).or_insert(new_hour);
        if now_ms >= calls.resets_ms {
            *calls = new_hour;
        }
        calls.used += 1;
        *calls
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HourlyCalls>> {
        self.0.lock().expect("nothing panics while it counts")
    }
}

impl GitHub {
    /// GitHub's members and lists, though the mock supports neither refresh tokens nor the
    /// device flow. It is a public preview, made for clients of another kind: a broker should
    /// rather have the addresses built in.
    ///
    /// The real document announces `iss`, and so does this one while every callback carries it:
    /// otherwise a client that relies on it would refuse a cancelled sign-in without `iss`, and
    /// never see `access_denied`. It never denies `iss`, which some callbacks may carry.
    fn metadata(&self) -> Response {
        let url = &self.context.url;
        let mut document = json!({
            "issuer": format!("{url}/login/oauth"),
            "authorization_endpoint": format!("{url}{AUTHORIZATION_PATH}"),
            "token_endpoint": format!("{url}{TOKEN_PATH}"),
            "device_authorization_endpoint": format!("{url}/login/device/code"),
            "response_types_supported": ["code"],
            "grant_types_supported": [
                "authorization_code", "refresh_token",
                "urn:ietf:params:oauth:grant-type:device_code",
            ],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["offline_access"],
        });
        if self.context.iss_is_in_every_callback() {
            document["authorization_response_iss_parameter_supported"] = true.into();
        }
        Response::json(200, &document)
    }
}
