//! Google's discovery document and keys, fetched when they are needed and cached as
//! long as Google says.

use std::sync::Arc;
use std::time::Duration;

use contract::Origin;
use jsonwebtoken::DecodingKey;
use reqwest::IntoUrl;

use super::cached_document::CachedDocument;
use super::jwks::Jwks;
use super::metadata::Metadata;
use crate::clock::Clock;
use crate::upstream::client::{Answer, Client, Observer};
use crate::upstream::failure::Failure;

/// The shortest time for which a document is cached, whatever its headers say.
const MIN_LIFETIME: Duration = Duration::from_secs(60);

/// The longest time for which a document is cached, whatever its headers say.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// The metadata and the keys of one issuer, each fetched by one sign-in at a time;
/// others that need the newer document wait for that fetch and share its result.
#[derive(Debug)]
pub(in crate::upstream) struct Documents {
    issuer: Origin,
    client: Client,
    clock: Clock,
    metadata: CachedDocument<Arc<Metadata>>,
    jwks: CachedDocument<Jwks>,
}

impl Documents {
    pub(in crate::upstream) fn new(issuer: Origin, client: Client, clock: Clock) -> Self {
        Self {
            issuer,
            client,
            clock,
            metadata: CachedDocument::default(),
            jwks: CachedDocument::default(),
        }
    }

    /// The issuer's endpoints.
    pub(in crate::upstream) async fn metadata(
        &self,
        observer: Observer<'_>,
    ) -> Result<Arc<Metadata>, Failure> {
        let whole = |metadata: &Arc<Metadata>| Ok(metadata.clone());
        let fetch = self.fetch_metadata(observer);
        self.metadata
            .get(&self.clock, "metadata", whole, fetch)
            .await
    }

    async fn fetch_metadata(
        &self,
        observer: Observer<'_>,
    ) -> Result<(Arc<Metadata>, Duration), Failure> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer);
        let answer = self.fetch("GET discovery", url, observer).await?;
        let metadata = Metadata::read(&answer, &self.issuer)?;
        Ok((Arc::new(metadata), lifetime(&answer)))
    }

    /// The public key with this id.
    pub(super) async fn key(
        &self,
        id: &str,
        observer: Observer<'_>,
    ) -> Result<Arc<DecodingKey>, Failure> {
        let key = |jwks: &Jwks| jwks.find(id).ok_or(Failure::IdTokenUnknownKey);
        let fetch = self.fetch_jwks(observer);
        self.jwks.get(&self.clock, id, key, fetch).await
    }

    /// Fetches the keys, and the time for which they may be cached.
    pub(in crate::upstream) async fn fetch_jwks(
        &self,
        observer: Observer<'_>,
    ) -> Result<(Jwks, Duration), Failure> {
        let metadata = self.metadata(observer).await?;
        let url = metadata.jwks_uri.clone();
        let answer = self.fetch("GET keys", url, observer).await?;
        Ok((Jwks::read(&answer)?, lifetime(&answer)))
    }

    async fn fetch(
        &self,
        operation: &'static str,
        url: impl IntoUrl,
        observer: Observer<'_>,
    ) -> Result<Answer, Failure> {
        let request = self.client.get(url);
        let answer = self.client.send(operation, request, observer).await;
        answer.map_err(Failure::of_document)
    }
}

/// The time for which a document may be cached.
pub(in crate::upstream) fn lifetime(answer: &Answer) -> Duration {
    answer
        .max_age_seconds()
        .map_or(MIN_LIFETIME, Duration::from_secs)
        .clamp(MIN_LIFETIME, MAX_LIFETIME)
}
