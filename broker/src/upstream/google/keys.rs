//! Where Google's endpoints are and which keys it signs with, fetched when they
//! are needed and kept as long as Google says.

use std::time::Duration;

use contract::Origin;
use jsonwebtoken::DecodingKey;
use tokio::sync::Mutex;

use super::super::Failure;
use super::super::client::{Answer, Client, Hear};
use super::discovery::Endpoints;
use super::key_set::KeySet;
use super::shelf::Shelf;
use crate::clock::Clock;

/// Shortest and longest time that a document is kept, whatever its headers say.
const KEPT_AT_LEAST: Duration = Duration::from_secs(60);
const KEPT_AT_MOST: Duration = Duration::from_hours(24);

/// Discovery and keys of one issuer. Whoever needs a document that another is
/// just fetching waits for that one fetch, and shares what came of it.
#[derive(Debug)]
pub(in crate::upstream) struct Keys {
    issuer: Origin,
    client: Client,
    clock: Clock,
    endpoints: Mutex<Shelf<Endpoints>>,
    set: Mutex<Shelf<KeySet>>,
}

impl Keys {
    pub(in crate::upstream) fn new(issuer: Origin, client: Client, clock: Clock) -> Self {
        Self {
            issuer,
            client,
            clock,
            endpoints: Mutex::default(),
            set: Mutex::default(),
        }
    }

    /// Where to send browsers and codes.
    pub(in crate::upstream) async fn endpoints(
        &self,
        hear: Hear<'_>,
    ) -> Result<Endpoints, Failure> {
        let mut shelf = self.endpoints.lock().await;
        let now = self.clock.now();
        if let Some(endpoints) = shelf.fresh(now) {
            return Ok(endpoints.clone());
        }
        if let Some(failure) = shelf.failure(now) {
            return shelf.stale(failure, now).cloned();
        }
        let found = self.discover(hear).await;
        shelf.put(found, self.clock.now()).cloned()
    }

    async fn discover(&self, hear: Hear<'_>) -> Result<(Endpoints, Duration), Failure> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer);
        let answer = self.fetch("GET discovery", &url, hear).await?;
        Ok((Endpoints::read(&answer, &self.issuer)?, kept_for(&answer)))
    }

    /// The public key with this id. An unknown one makes us look again, but once
    /// in [`KEPT_AT_LEAST`]: forged ids must not cause traffic.
    pub(super) async fn find(&self, id: &str, hear: Hear<'_>) -> Result<DecodingKey, Failure> {
        let mut shelf = self.set.lock().await;
        let now = self.clock.now();
        let is_fresh = match shelf.fresh(now) {
            None => false,
            Some(set) => match set.find(id) {
                Some(key) => return Ok(key),
                None => true,
            },
        };
        if let Some(failure) = shelf.failure(now) {
            let set = shelf.stale(failure, now)?;
            return set.find(id).ok_or(failure);
        }
        if is_fresh && !shelf.may_search(now, KEPT_AT_LEAST) {
            return Err(Failure::IdTokenUnknownKey);
        }
        match self.key_set(hear).await {
            Ok(found) => {
                let set = shelf.put(Ok(found), self.clock.now())?;
                set.find(id).ok_or(Failure::IdTokenUnknownKey)
            }
            Err(failure) => {
                let set = shelf.put(Err(failure), self.clock.now())?;
                set.find(id).ok_or(failure)
            }
        }
    }

    /// The keys as they are now, and for how long they may be kept.
    pub(in crate::upstream) async fn key_set(
        &self,
        hear: Hear<'_>,
    ) -> Result<(KeySet, Duration), Failure> {
        let endpoints = self.endpoints(hear).await?;
        let answer = self.fetch("GET keys", &endpoints.keys, hear).await?;
        Ok((KeySet::read(&answer)?, kept_for(&answer)))
    }

    async fn fetch(
        &self,
        operation: &'static str,
        url: &str,
        hear: Hear<'_>,
    ) -> Result<Answer, Failure> {
        let request = self.client.get(url);
        let answer = self.client.send(operation, request, hear).await;
        answer.map_err(Failure::of_document)
    }
}

/// For how long a document may be kept.
pub(in crate::upstream) fn kept_for(answer: &Answer) -> Duration {
    answer
        .max_age_seconds()
        .map_or(KEPT_AT_LEAST, Duration::from_secs)
        .clamp(KEPT_AT_LEAST, KEPT_AT_MOST)
}
