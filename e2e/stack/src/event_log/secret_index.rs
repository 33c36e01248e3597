//! The login and the project that each secret belongs to, by the digests of the secrets
//! that the broker has issued.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::model::LoginId;
use contract::{Digest, State};
use hyper::header::LOCATION;
use hyper::http::response::Parts;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::operation::CallOwner;

/// The number of secrets that are remembered.
const MAX_SECRETS: usize = 40_000;

/// The SHA-256 of a secret.
type Key = [u8; 32];

/// An index from digests of secrets to their owners.
#[derive(Debug, Default)]
pub(crate) struct SecretIndex(Mutex<Index>);

#[derive(Debug, Default)]
struct Index {
    owners: HashMap<Key, (CallOwner, SecretKind)>,
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
    /// Adds the secrets that a response to a call of `owner` issues.
    pub(crate) fn learn(&self, owner: &CallOwner, head: &Parts, body: &[u8]) {
        match head.headers.get(LOCATION).and_then(|it| it.to_str().ok()) {
            Some(location) => self.learn_redirect(owner, location),
            None => self.learn_body(owner, body),
        }
    }

    fn learn_redirect(&self, owner: &CallOwner, location: &str) {
        let query = location.split_once('?').map_or("", |(_, query)| query);
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "state" => self.insert(SecretKind::UpstreamState, &value, owner),
                "code" => self.insert(SecretKind::Code, &value, owner),
                _ => {}
            }
        }
    }

    fn learn_body(&self, owner: &CallOwner, body: &[u8]) {
        let Ok(json) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let field = |name: &str| json.get(name)?.as_str();
        if let Some((_, handle)) = field("authorization_url").and_then(|url| url.rsplit_once('/')) {
            self.insert(SecretKind::Handle, handle, owner);
        }
        if let Some(token) = field("access_token") {
            self.insert(SecretKind::Token, token, owner);
        }
    }

    fn insert(&self, kind: SecretKind, secret: &str, owner: &CallOwner) {
        let mut index = self.lock();
        let key = key(secret);
        if index.owners.insert(key, (owner.clone(), kind)).is_some() {
            return;
        }
        index.oldest_first.push_back(key);
        if index.oldest_first.len() > MAX_SECRETS
            && let Some(oldest) = index.oldest_first.pop_front()
        {
            index.owners.remove(&oldest);
        }
    }

    /// The owner of `secret`.
    pub(crate) fn owner_of(&self, secret: &str) -> Option<CallOwner> {
        let index = self.lock();
        let entry = index.owners.get(&key(secret));
        entry.map(|(owner, _)| owner.clone())
    }

    /// The login that begins at `url`, to which a consumer redirects after a start.
    pub(crate) fn login_at(&self, url: &str) -> Option<LoginId> {
        let url = Url::parse(url).ok()?;
        if url.path() == "/authorize" {
            let mut query = url.query_pairs();
            let (_, state) = query.find(|(name, _)| name == "state")?;
            return Some(LoginId::of_state(&state.parse::<State>().ok()?));
        }
        let handle = url.path_segments()?.next_back()?;
        self.owner_of(handle)?.login
    }

    /// The digest of the latest secret of this kind that was issued for `login`.
    pub(crate) fn digest_of(&self, kind: SecretKind, login: &str) -> Option<Digest> {
        let index = self.lock();
        let is_match = |key: &&Key| {
            let entry = index.owners.get(*key);
            entry.is_some_and(|(owner, its_kind)| {
                owner.login.as_ref().map(LoginId::as_str) == Some(login) && *its_kind == kind
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
