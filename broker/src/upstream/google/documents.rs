//! Google's documents: the provider metadata of an issuer (OpenID Connect Discovery 1.0), and
//! the keys with which it signs. They are fetched when they are needed and cached as long as
//! Google says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use contract::Origin;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use reqwest::IntoUrl;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::clock::Clock;
use crate::upstream::cached_document::CachedDocument;
use crate::upstream::client::{Answer, Client, Observer};
use crate::upstream::failure::Failure;

/// The shortest time for which a document is cached, whatever its headers say.
const MIN_LIFETIME: Duration = Duration::from_secs(60);

/// The longest time for which a document is cached, whatever its headers say.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// The metadata and the keys of one issuer, each fetched by one sign-in at a time;
/// others that need the newer document wait for that fetch and share its result.
pub(crate) struct Documents {
    issuer: Origin,
    client: Client,
    clock: Clock,
    metadata: CachedDocument<Arc<Metadata>>,
    jwks: CachedDocument<Jwks>,
}

impl Documents {
    pub(crate) fn new(issuer: Origin, client: Client, clock: Clock) -> Self {
        Self {
            issuer,
            client,
            clock,
            metadata: CachedDocument::default(),
            jwks: CachedDocument::default(),
        }
    }

    /// The issuer's endpoints.
    pub(crate) async fn metadata(&self, observer: Observer<'_>) -> Result<Arc<Metadata>, Failure> {
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
    pub(crate) async fn key(
        &self,
        id: &str,
        observer: Observer<'_>,
    ) -> Result<Arc<DecodingKey>, Failure> {
        let key = |jwks: &Jwks| jwks.find(id).ok_or(Failure::IdTokenUnknownKey);
        let fetch = self.fetch_jwks(observer);
        self.jwks.get(&self.clock, id, key, fetch).await
    }

    /// Fetches the keys, and the time for which they may be cached.
    pub(crate) async fn fetch_jwks(
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
pub(crate) fn lifetime(answer: &Answer) -> Duration {
    answer
        .max_age_seconds()
        .map_or(MIN_LIFETIME, Duration::from_secs)
        .clamp(MIN_LIFETIME, MAX_LIFETIME)
}

/// The hosts of Google's own endpoints besides its issuer. A document that names any
/// other host is rejected: the broker's secret would be sent there.
const GOOGLES_OTHER_HOSTS: [&str; 2] = [
    "https://oauth2.googleapis.com",
    "https://www.googleapis.com",
];

/// The endpoints that the broker uses. Each is a URL without query and fragment, at the
/// issuer's own hosts.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) authorization_endpoint: Url,
    pub(crate) token_endpoint: Url,
    pub(crate) jwks_uri: Url,
}

#[derive(Deserialize)]
struct MetadataDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

impl Metadata {
    pub(crate) fn read(answer: &Answer, issuer: &Origin) -> Result<Self, Failure> {
        let document: MetadataDocument = answer.json().map_err(Failure::of_document)?;
        if document.issuer != issuer.as_str() {
            return Err(Failure::DocumentIssuer);
        }
        let own = |text: String| match Url::parse(&text) {
            Err(_) => Err(Failure::Document),
            Ok(url) if is_at_issuer(&url, issuer) => Ok(url),
            Ok(_) => Err(Failure::DocumentHost),
        };
        Ok(Self {
            authorization_endpoint: own(document.authorization_endpoint)?,
            token_endpoint: own(document.token_endpoint)?,
            jwks_uri: own(document.jwks_uri)?,
        })
    }
}

fn is_at_issuer(url: &Url, issuer: &Origin) -> bool {
    let host = url.origin().ascii_serialization();
    let is_bare = url.username().is_empty() && url.query().is_none() && url.fragment().is_none();
    is_bare
        && (host == issuer.as_str()
            || (!issuer.is_loopback() && GOOGLES_OTHER_HOSTS.contains(&host.as_str())))
}

/// The RS256 keys of a JWKS document by their ids; of two with one id the first.
pub(crate) struct Jwks(HashMap<String, Arc<DecodingKey>>);

/// The keys are parsed one by one, so that a key of an unknown kind does not fail the
/// others.
#[derive(Deserialize)]
struct JwksDocument {
    keys: Vec<Value>,
}

impl Jwks {
    pub(crate) fn read(answer: &Answer) -> Result<Self, Failure> {
        let document: JwksDocument = answer.json().map_err(Failure::of_document)?;
        let mut keys = HashMap::new();
        for (id, key) in document.keys.into_iter().filter_map(usable) {
            keys.entry(id).or_insert_with(|| Arc::new(key));
        }
        if keys.is_empty() {
            return Err(Failure::Document);
        }
        Ok(Self(keys))
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<DecodingKey>> {
        self.0.get(id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// An RSA key that may verify RS256 signatures, with its id.
fn usable(key: Value) -> Option<(String, DecodingKey)> {
    let key: Jwk = serde_json::from_value(key).ok()?;
    let is_rsa = matches!(key.algorithm, AlgorithmParameters::RSA(_));
    let is_rs256 = matches!(key.common.key_algorithm, None | Some(KeyAlgorithm::RS256));
    let signs = matches!(
        key.common.public_key_use,
        None | Some(PublicKeyUse::Signature)
    );
    let decoding = DecodingKey::from_jwk(&key).ok()?;
    let id = key.common.key_id?;
    (is_rsa && is_rs256 && signs).then_some((id, decoding))
}
