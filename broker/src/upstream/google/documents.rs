//! Where Google's endpoints are and which keys it signs with, fetched when they
//! are needed and kept as long as Google says.

use std::time::Duration;

use contract::Origin;
use jsonwebtoken::DecodingKey;

use super::super::Failure;
use super::super::client::{Answer, Client, Hear};
use super::discovery::Endpoints;
use super::key_set::KeySet;
use super::shelf::Shelf;
use crate::clock::Clock;

/// Shortest and longest time that a document is kept, whatever its headers say.
const KEPT_AT_LEAST: Duration = Duration::from_secs(60);
const KEPT_AT_MOST: Duration = Duration::from_hours(24);

/// Discovery and keys of one issuer, each fetched by one sign-in at a time; others
/// that need the newer document wait for that fetch and share its outcome.
#[derive(Debug)]
pub(in crate::upstream) struct Keys {
    issuer: Origin,
    client: Client,
    clock: Clock,
    endpoints: Shelf<Endpoints>,
    set: Shelf<KeySet>,
}

impl Keys {
    pub(in crate::upstream) fn new(issuer: Origin, client: Client, clock: Clock) -> Self {
        Self {
            issuer,
            client,
            clock,
            endpoints: Shelf::default(),
            set: Shelf::default(),
        }
    }

    /// Where to send browsers and codes.
    pub(in crate::upstream) async fn endpoints(
        &self,
        hear: Hear<'_>,
    ) -> Result<Endpoints, Failure> {
        let whole = |endpoints: &Endpoints| Ok(endpoints.clone());
        let fetch = self.discover(hear);
        self.endpoints.get(&self.clock, whole, fetch).await
    }

    async fn discover(&self, hear: Hear<'_>) -> Result<(Endpoints, Duration), Failure> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer);
        let answer = self.fetch("GET discovery", &url, hear).await?;
        Ok((Endpoints::read(&answer, &self.issuer)?, kept_for(&answer)))
    }

    /// The public key with this id.
    pub(super) async fn find(&self, id: &str, hear: Hear<'_>) -> Result<DecodingKey, Failure> {
        let key = |set: &KeySet| set.find(id).ok_or(Failure::IdTokenUnknownKey);
        self.set.get(&self.clock, key, self.key_set(hear)).await
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
