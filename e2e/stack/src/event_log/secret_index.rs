//! The login that each secret belongs to, by the digests of the secrets that the broker
//! has issued.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::model::LoginId;
use contract::Digest;
use hyper::header::LOCATION;
use hyper::http::response::Parts;
use serde_json::Value;
use url::form_urlencoded;

/// The number of secrets that are remembered.
const MAX_SECRETS: usize = 40_000;

/// The SHA-256 of a secret.
type Key = [u8; 32];

/// An index from digests of secrets to logins.
#[derive(Debug, Default)]
pub(crate) struct SecretIndex(Mutex<Index>);

#[derive(Debug, Default)]
struct Index {
    logins: HashMap<Key, (LoginId, SecretKind)>,
    oldest_first: VecDeque<Key>,
}

/// The kinds of secrets that identify a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    /// The last segment of an authorization URL.
    Handle,
    /// The `state` that a browser takes to a provider.
    UpstreamState,
    /// A handoff code.
    Code,
    /// An access token.
    Token,
}

impl SecretIndex {
    /// Adds the secrets that a response about `login` issues.
    pub(crate) fn learn(&self, login: &LoginId, head: &Parts, body: &[u8]) {
        match head.headers.get(LOCATION).and_then(|it| it.to_str().ok()) {
            Some(location) => self.learn_redirect(login, location),
            None => self.learn_body(login, body),
        }
    }

    fn learn_redirect(&self, login: &LoginId, location: &str) {
        let query = location.split_once('?').map_or("", |(_, query)| query);
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "state" => self.insert(SecretKind::UpstreamState, &value, login),
                "code" => self.insert(SecretKind::Code, &value, login),
                _ => {}
            }
        }
    }

    fn learn_body(&self, login: &LoginId, body: &[u8]) {
        let Ok(json) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let field = |name: &str| json.get(name)?.as_str();
        if let Some((_, handle)) = field("authorization_url").and_then(|url| url.rsplit_once('/')) {
            self.insert(SecretKind::Handle, handle, login);
        }
        if let Some(token) = field("access_token") {
            self.insert(SecretKind::Token, token, login);
        }
    }

    fn insert(&self, kind: SecretKind, secret: &str, login: &LoginId) {
        let mut index = self.lock();
        let key = key(secret);
        if index.logins.insert(key, (login.clone(), kind)).is_some() {
            return;
        }
        index.oldest_first.push_back(key);
        if index.oldest_first.len() > MAX_SECRETS
            && let Some(oldest) = index.oldest_first.pop_front()
        {
            index.logins.remove(&oldest);
        }
    }

    /// The login that `secret` belongs to.
    pub(crate) fn login_of(&self, secret: &str) -> Option<LoginId> {
        let index = self.lock();
        let entry = index.logins.get(&key(secret));
        entry.map(|(login, _)| login.clone())
    }

    /// The digest of the latest secret of this kind that was issued for `login`.
    pub(crate) fn digest_of(&self, kind: SecretKind, login: &str) -> Option<Digest> {
        let index = self.lock();
        let is_match = |key: &&Key| {
            let entry = index.logins.get(*key);
            entry.is_some_and(|(its_login, its_kind)| {
                its_login.as_str() == login && *its_kind == kind
            })
        };
        let latest = index.oldest_first.iter().rev().find(is_match);
        latest.copied().map(Digest::from_bytes)
    }

    pub(crate) fn clear(&self) {
        *self.lock() = Index::default();
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(secret: &str) -> Key {
    *Digest::of(secret.as_bytes()).as_bytes()
}
