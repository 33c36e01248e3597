//! GitHub's dialect: OAuth 2.0 without ID tokens, and a REST API.
//!
//! The web pages and the API share one host here. Sources: GitHub's
//! "Authorizing OAuth apps" and its REST API reference.

mod api;
mod authorize;
mod metadata;
mod meter;
mod scopes;
mod token;
mod trouble;
mod user;

use std::sync::Arc;

use crate::answer::Answer;
use crate::call::Call;
use crate::desk::Desk;
use crate::pages;
use crate::server::Dialect;
use crate::shelf::{Content, Shelf};
use crate::sign_in::{self, Cast, SignIns};
use crate::{Misbehaviour, Person};
use authorize::AuthorizationRequest;
use meter::Meter;
use scopes::Scopes;

const AUTHORIZATION_PATH: &str = "/login/oauth/authorize";
const TOKEN_PATH: &str = "/login/oauth/access_token";

/// GitHub, as a broker sees it.
pub(crate) struct GitHub {
    desk: Arc<Desk>,
    /// `https://github.com/login/oauth` in the real one.
    issuer: String,
    sign_ins: SignIns<AuthorizationRequest>,
    codes: Shelf<Grant>,
    tokens: Shelf<Access>,
    meter: Meter,
}

/// What a code stands for.
struct Grant {
    request: AuthorizationRequest,
    cast: Cast,
}

/// What an access token opens.
#[derive(Clone)]
struct Access {
    person: Person,
    scopes: Scopes,
    misbehaviour: Option<Misbehaviour>,
}

impl Content for Grant {
    fn heap_bytes(&self) -> usize {
        self.request.heap_bytes() + self.cast.heap_bytes()
    }
}

impl Content for Access {
    fn heap_bytes(&self) -> usize {
        self.person.heap_bytes() + self.scopes.heap_bytes()
    }
}

impl GitHub {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        Self {
            issuer: format!("{}/login/oauth", desk.url),
            desk,
            sign_ins: SignIns::new(),
            codes: Shelf::new(),
            tokens: Shelf::new(),
            meter: Meter::new(),
        }
    }

    fn metadata(&self) -> Answer {
        metadata::answer(&self.desk.url, self.desk.iss_is_in_every_answer())
    }
}

impl Dialect for GitHub {
    fn answer(&self, call: &Call) -> Answer {
        match (call.method(), call.path()) {
            ("GET", metadata::PATH) => self.metadata(),
            ("GET", AUTHORIZATION_PATH) => self.authorize(call),
            ("POST", sign_in::PATH) => self.choose(call),
            ("POST", TOKEN_PATH) => self.token(call),
            ("GET", "/user") => self.user(call),
            ("GET", "/user/emails") => self.emails(call),
            _ => pages::not_found(self.desk.provider),
        }
    }

    fn bytes_held(&self) -> usize {
        self.sign_ins.bytes_held() + self.codes.bytes_held() + self.tokens.bytes_held()
    }

    fn reset(&self) {
        self.sign_ins.clear();
        self.codes.clear();
        self.tokens.clear();
        self.meter.clear();
    }
}
