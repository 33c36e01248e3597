//! Google's dialect: OpenID Connect with ID tokens.
//!
//! The paths are the real ones, all on one host. Sources: Google's OpenID
//! Connect reference and "OAuth 2.0 for Web Server Applications".

mod authorize;
mod discovery;
mod id_token;
mod keys;
mod scopes;
mod token;
mod userinfo;

use std::sync::Arc;

pub(crate) use keys::KeyRing;

use crate::answer::Answer;
use crate::call::Call;
use crate::desk::Desk;
use crate::pages;
use crate::server::Dialect;
use crate::shelf::Shelf;
use crate::sign_in::{self, Cast, SignIns};
use authorize::AuthorizationRequest;
use scopes::Scopes;

const AUTHORIZATION_PATH: &str = "/o/oauth2/v2/auth";
const TOKEN_PATH: &str = "/token";
const KEYS_PATH: &str = "/oauth2/v3/certs";
const USERINFO_PATH: &str = "/v1/userinfo";
const REVOCATION_PATH: &str = "/revoke";

/// Google, as a broker sees it.
pub(crate) struct Google {
    desk: Arc<Desk>,
    keys: Arc<KeyRing>,
    sign_ins: SignIns<AuthorizationRequest>,
    codes: Shelf<Grant>,
    tokens: Shelf<Access>,
}

/// What a code stands for.
struct Grant {
    request: AuthorizationRequest,
    cast: Cast,
}

/// What an access token opens.
#[derive(Clone)]
struct Access {
    person: crate::Person,
    scopes: Scopes,
}

impl Google {
    pub(crate) fn new(desk: Arc<Desk>, keys: Arc<KeyRing>) -> Self {
        Self {
            desk,
            keys,
            sign_ins: SignIns::new(),
            codes: Shelf::new(),
            tokens: Shelf::new(),
        }
    }
}

impl Dialect for Google {
    fn answer(&self, call: &Call) -> Answer {
        match (call.method(), call.path()) {
            ("GET", discovery::PATH) => discovery::answer(&self.desk.url),
            ("GET", KEYS_PATH) => self.keys.answer(),
            ("GET", AUTHORIZATION_PATH) => self.authorize(call),
            ("POST", sign_in::PATH) => self.choose(call),
            ("POST", TOKEN_PATH) => self.token(call),
            ("GET" | "POST", USERINFO_PATH) => self.userinfo(call),
            ("POST", REVOCATION_PATH) => self.revoke(call),
            _ => pages::not_found(self.desk.provider),
        }
    }

    fn reset(&self) {
        self.sign_ins.clear();
        self.codes.clear();
        self.tokens.clear();
        self.keys.reset();
    }
}
