//! Where Google's endpoints are and which keys it signs with, fetched when they
//! are needed and kept as long as Google says.

use contract::Origin;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, JwkSet};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::super::Failure;
use super::super::client::{Client, send};
use crate::clock::Clock;
use crate::flows::UnixMs;

/// Shortest and longest time that a document is kept, whatever its headers say.
const KEPT_AT_LEAST_MS: i64 = 60_000;
const KEPT_AT_MOST_MS: i64 = 24 * 3_600_000;

/// How long a failed fetch stands for those who waited for it: without this each
/// of them would wait out a time limit of their own, one after the other.
const FAILED_FOR_MS: i64 = 2_000;

/// What discovery says, as far as we need it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Endpoints {
    issuer: String,
    #[serde(rename = "authorization_endpoint")]
    pub(super) authorization: String,
    #[serde(rename = "token_endpoint")]
    pub(super) token: String,
    jwks_uri: String,
}

/// Discovery and keys of one issuer. Whoever needs a document that another is
/// just fetching waits for that one fetch, and shares what came of it.
#[derive(Debug)]
pub(super) struct Keys {
    issuer: Origin,
    client: Client,
    clock: Clock,
    endpoints: Mutex<Shelf<Endpoints>>,
    set: Mutex<Shelf<JwkSet>>,
}

/// One document: the latest, how long it counts, and what went wrong lately.
#[derive(Debug)]
struct Shelf<T> {
    kept: Option<(T, UnixMs)>,
    failed: Option<(Failure, UnixMs)>,
    /// Until when nobody looks for what is not in it.
    searched: Option<UnixMs>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            kept: None,
            failed: None,
            searched: None,
        }
    }
}

impl<T> Shelf<T> {
    /// The document, if it still counts.
    fn fresh(&self, now: UnixMs) -> Option<&T> {
        let (document, until) = self.kept.as_ref()?;
        until.is_after(now).then_some(document)
    }

    /// A failure that still stands.
    fn failure(&self, now: UnixMs) -> Option<Failure> {
        let (failure, until) = self.failed?;
        until.is_after(now).then_some(failure)
    }

    /// Puts down what came of a fetch that ended at `now`.
    fn put(&mut self, fetched: Result<(T, i64), Failure>, now: UnixMs) -> Result<&T, Failure> {
        match fetched {
            Ok((document, kept_ms)) => {
                self.failed = None;
                Ok(&self.kept.insert((document, now.plus_ms(kept_ms))).0)
            }
            Err(failure) => {
                self.failed = Some((failure, now.plus_ms(FAILED_FOR_MS)));
                Err(failure)
            }
        }
    }
}

impl Keys {
    pub(super) fn new(issuer: Origin, client: Client, clock: Clock) -> Self {
        Self {
            issuer,
            client,
            clock,
            endpoints: Mutex::default(),
            set: Mutex::default(),
        }
    }

    /// Where to send browsers and codes.
    pub(super) async fn endpoints(&self) -> Result<Endpoints, Failure> {
        let mut shelf = self.endpoints.lock().await;
        let now = self.clock.now();
        if let Some(endpoints) = shelf.fresh(now) {
            return Ok(endpoints.clone());
        }
        if let Some(failure) = shelf.failure(now) {
            return Err(failure);
        }
        let found = self.discover().await;
        shelf.put(found, self.clock.now()).cloned()
    }

    async fn discover(&self) -> Result<(Endpoints, i64), Failure> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer);
        let found: (Endpoints, i64) = self.fetch(&url).await?;
        if found.0.issuer == self.issuer.as_str() {
            Ok(found)
        } else {
            Err(Failure::unavailable("discovery names another issuer"))
        }
    }

    /// The public key with this id. An unknown one makes us look again, but not
    /// twice within [`KEPT_AT_LEAST_MS`]: forged ids must not cause traffic.
    pub(super) async fn find(&self, id: &str) -> Result<DecodingKey, Failure> {
        let mut shelf = self.set.lock().await;
        let now = self.clock.now();
        let is_searched = shelf.searched.is_some_and(|until| until.is_after(now));
        let known = match shelf.fresh(now) {
            Some(set) if is_searched || set.find(id).is_some() => Some(set),
            _ => None,
        };
        if let Some(set) = known {
            return rsa_key(set, id);
        }
        if let Some(failure) = shelf.failure(now) {
            return Err(failure);
        }
        let is_search = shelf.fresh(now).is_some();
        let found = self.key_set().await;
        let now = self.clock.now();
        let key = rsa_key(shelf.put(found, now)?, id);
        if is_search {
            shelf.searched = Some(now.plus_ms(KEPT_AT_LEAST_MS));
        }
        key
    }

    async fn key_set(&self) -> Result<(JwkSet, i64), Failure> {
        self.fetch(&self.endpoints().await?.jwks_uri).await
    }

    /// A document, and for how many milliseconds it may be kept.
    async fn fetch<T: DeserializeOwned>(&self, url: &str) -> Result<(T, i64), Failure> {
        let answer = send(self.client.get(url)).await?;
        // Whatever is wrong with these documents, it is not the person's answer.
        let document = answer
            .json()
            .map_err(|_| Failure::unavailable("discovery or keys are not what they should be"))?;
        let kept_ms = answer
            .max_age_seconds()
            .map_or(KEPT_AT_LEAST_MS, |seconds| seconds.saturating_mul(1000))
            .clamp(KEPT_AT_LEAST_MS, KEPT_AT_MOST_MS);
        Ok((document, kept_ms))
    }
}

fn rsa_key(set: &JwkSet, id: &str) -> Result<DecodingKey, Failure> {
    set.find(id)
        .filter(|key| matches!(key.algorithm, AlgorithmParameters::RSA(_)))
        .and_then(|key| DecodingKey::from_jwk(key).ok())
        .ok_or(Failure::invalid(
            "the ID token's key is not one of the provider's",
        ))
}
