//! Google's dialect: OpenID Connect with ID tokens.
//!
//! The paths are the real ones, all on one host. Sources: Google's OpenID
//! Connect reference and "OAuth 2.0 for Web Server Applications".

mod authorize;
mod discovery;
mod id_token;
mod keys;
mod scopes;
mod seal;
mod token;
mod tokeninfo;
mod userinfo;

use std::sync::Arc;

pub(crate) use keys::KeyRing;

use crate::answer::{Answer, Delivery};
use crate::call::Call;
use crate::desk::Desk;
use crate::pages;
use crate::server::Dialect;
use crate::shelf::{Content, Shelf};
use crate::sign_in::{self, Cast, SignIns};
use crate::{Misbehaviour, Person};
use authorize::{AuthorizationRequest, Consent};
use keys::KeyForm;
use scopes::Scopes;

const AUTHORIZATION_PATH: &str = "/o/oauth2/v2/auth";
/// Still in the client files that Google's console hands out.
const OLDER_AUTHORIZATION_PATH: &str = "/o/oauth2/auth";
const TOKEN_PATH: &str = "/token";
const KEYS_PATH: &str = "/oauth2/v3/certs";
const CERTIFICATES_PATH: &str = "/oauth2/v1/certs";
const USERINFO_PATH: &str = "/v1/userinfo";
const REVOCATION_PATH: &str = "/revoke";

/// How long the key set is in trouble for a token that was just given. No client
/// looks for its key later than this.
const KEY_TROUBLE_MS: i64 = 10 * 1000;

/// Google, as a broker sees it.
pub(crate) struct Google {
    desk: Arc<Desk>,
    keys: Arc<KeyRing>,
    sign_ins: SignIns<AuthorizationRequest>,
    codes: Shelf<Grant>,
    tokens: Shelf<Access>,
    /// Who has given an app access for the time when they are away, by `sub`.
    offline: Shelf<()>,
    /// What whoever looks for a new key will meet, once and soon.
    key_trouble: Shelf<Misbehaviour>,
}

/// What a code stands for.
struct Grant {
    request: AuthorizationRequest,
    cast: Cast,
    consent: Consent,
}

/// What an access token opens.
#[derive(Clone)]
struct Access {
    person: Person,
    scopes: Scopes,
    is_offline: bool,
    ends_ms: i64,
}

impl Content for Grant {
    fn heap_bytes(&self) -> usize {
        self.request.heap_bytes() + self.cast.heap_bytes()
    }
}

impl Content for Access {
    fn heap_bytes(&self) -> usize {
        self.person.heap_bytes()
    }
}

impl Google {
    pub(crate) fn new(desk: Arc<Desk>, keys: Arc<KeyRing>) -> Self {
        Self {
            desk,
            keys,
            sign_ins: SignIns::new(),
            codes: Shelf::new(),
            tokens: Shelf::new(),
            offline: Shelf::new(),
            key_trouble: Shelf::new(),
        }
    }

    fn discovery(&self) -> Answer {
        let announces_iss =
            self.desk.unconfirmed.google_announces_iss && self.desk.iss_is_in_every_answer();
        discovery::answer(&self.desk.url, announces_iss)
    }

    /// The published keys, unless the next look at them is to go wrong.
    fn published_keys(&self, form: KeyForm) -> Answer {
        let max_age_seconds = self.desk.unconfirmed.google_keys_max_age_seconds;
        let sound = self.keys.answer(form, max_age_seconds);
        match self.key_trouble.take(KEYS_PATH, self.desk.now_ms()) {
            Some(Misbehaviour::Keys500) => pages::server_error(self.desk.provider, 500),
            Some(Misbehaviour::KeysTimeout) => sound.delivered(Delivery::Silence),
            _ => sound,
        }
    }

    /// Lets the next look at the published keys go wrong.
    fn trouble_keys(&self, misbehaviour: Misbehaviour) {
        let ends_ms = self.desk.now_ms() + KEY_TROUBLE_MS;
        self.key_trouble
            .put(KEYS_PATH.to_owned(), misbehaviour, ends_ms);
    }
}

impl Dialect for Google {
    fn answer(&self, call: &Call) -> Answer {
        match (call.method(), call.path()) {
            ("GET", discovery::PATH) => self.discovery(),
            ("GET", KEYS_PATH) => self.published_keys(KeyForm::Jwks),
            ("GET", CERTIFICATES_PATH) => self.published_keys(KeyForm::Certificates),
            ("GET", AUTHORIZATION_PATH | OLDER_AUTHORIZATION_PATH) => self.authorize(call),
            ("POST", sign_in::PATH) => self.choose(call),
            ("POST", TOKEN_PATH) => self.token(call),
            ("GET" | "POST", tokeninfo::PATH) => self.tokeninfo(call),
            ("POST", REVOCATION_PATH) => self.revoke(call),
            ("GET" | "POST", path) => match userinfo::Names::at(path) {
                Some(names) => self.userinfo(call, names),
                None => pages::not_found(self.desk.provider),
            },
            _ => pages::not_found(self.desk.provider),
        }
    }

    fn bytes_held(&self) -> usize {
        self.sign_ins.bytes_held()
            + self.codes.bytes_held()
            + self.tokens.bytes_held()
            + self.offline.bytes_held()
    }

    fn reset(&self) {
        self.sign_ins.clear();
        self.codes.clear();
        self.tokens.clear();
        self.offline.clear();
        self.key_trouble.clear();
        self.keys.reset();
    }
}
