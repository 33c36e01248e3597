//! The provider metadata of an issuer (OpenID Connect Discovery 1.0).

use contract::Origin;
use serde::Deserialize;
use url::Url;

use crate::upstream::client::Answer;
use crate::upstream::failure::Failure;

/// The hosts of Google's own endpoints besides its issuer. A document that names any
/// other host is rejected: the broker's secret would be sent there.
const GOOGLES_OTHER_HOSTS: [&str; 2] = [
    "https://oauth2.googleapis.com",
    "https://www.googleapis.com",
];

/// The endpoints that the broker uses. Each is a URL without query and fragment, at the
/// issuer's own hosts.
#[derive(Debug)]
pub(in crate::upstream) struct Metadata {
    pub(in crate::upstream) authorization_endpoint: Url,
    pub(in crate::upstream) token_endpoint: Url,
    pub(in crate::upstream) jwks_uri: Url,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

impl Metadata {
    /// Reads the document of `issuer`.
    pub(in crate::upstream) fn read(answer: &Answer, issuer: &Origin) -> Result<Self, Failure> {
        let document: Document = answer.json().map_err(Failure::of_document)?;
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
