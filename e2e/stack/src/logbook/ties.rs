//! Which login a secret belongs to, by the digests of those that crossed the wire.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::model::LoginId;
use contract::Digest;
use hyper::header::LOCATION;
use hyper::http::response::Parts;
use serde_json::Value;
use url::form_urlencoded;

/// How many secrets are remembered.
const MOST: usize = 40_000;

/// SHA-256 of a secret.
type Key = [u8; 32];

/// Ties secrets to logins.
#[derive(Debug, Default)]
pub(crate) struct Ties(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    logins: HashMap<Key, (LoginId, Secret)>,
    oldest_first: VecDeque<Key>,
}

/// What kind of secret it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secret {
    /// The last part of an authorization URL.
    Handle,
    /// The `state` that a browser takes to a provider.
    UpstreamState,
    /// A handoff code.
    Code,
    /// An access token.
    Token,
}

impl Ties {
    /// Remembers what an answer about `login` issues.
    pub(crate) fn learn(&self, login: &LoginId, head: &Parts, body: &[u8]) {
        if let Some(location) = head.headers.get(LOCATION).and_then(|it| it.to_str().ok()) {
            let query = location.split_once('?').map_or("", |(_, query)| query);
            let query = query.split_once('#').map_or(query, |(query, _)| query);
            for (name, value) in form_urlencoded::parse(query.as_bytes()) {
                match name.as_ref() {
                    "state" => self.tie(Secret::UpstreamState, &value, login),
                    "code" => self.tie(Secret::Code, &value, login),
                    _ => {}
                }
            }
            return;
        }
        let Ok(said) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let field = |name: &str| said.get(name)?.as_str();
        if let Some((_, handle)) = field("authorization_url").and_then(|url| url.rsplit_once('/')) {
            self.tie(Secret::Handle, handle, login);
        }
        if let Some(token) = field("access_token") {
            self.tie(Secret::Token, token, login);
        }
    }

    /// Remembers that `secret` belongs to `login`.
    fn tie(&self, kind: Secret, secret: &str, login: &LoginId) {
        let mut known = self.known();
        let key = key(secret);
        if known.logins.insert(key, (login.clone(), kind)).is_some() {
            return;
        }
        known.oldest_first.push_back(key);
        if known.oldest_first.len() > MOST
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.logins.remove(&oldest);
        }
    }

    /// The login that `secret` belongs to.
    pub(crate) fn login_of(&self, secret: &str) -> Option<LoginId> {
        let known = self.known();
        known
            .logins
            .get(&key(secret))
            .map(|(login, _)| login.clone())
    }

    /// The digest of the latest secret of this kind that `login` has.
    pub(crate) fn digest_of(&self, kind: Secret, login: &str) -> Option<Digest> {
        let known = self.known();
        let is_it = |key: &&Key| {
            let tied = known.logins.get(*key);
            tied.is_some_and(|(its, of)| its.as_str() == login && *of == kind)
        };
        let latest = known.oldest_first.iter().rev().find(is_it);
        latest.copied().map(Digest::from_bytes)
    }

    pub(crate) fn clear(&self) {
        *self.known() = Known::default();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(secret: &str) -> Key {
    *Digest::of(secret.as_bytes()).as_bytes()
}
