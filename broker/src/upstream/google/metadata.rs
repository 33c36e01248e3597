//! The discovery document: where an issuer's endpoints are.

use contract::Origin;
use serde::Deserialize;
use url::Url;

use super::super::Failure;
use super::super::client::Answer;

/// Where Google's own endpoints are besides its issuer. A document that leads
/// anywhere else is not followed: our secret would go there.
const GOOGLES_OTHER_HOSTS: [&str; 2] = [
    "https://oauth2.googleapis.com",
    "https://www.googleapis.com",
];

/// What discovery says, as far as we need it. Every one is a URL without query
/// and fragment, at the issuer's own hosts.
#[derive(Debug, Clone)]
pub(in crate::upstream) struct Endpoints {
    pub(in crate::upstream) authorization: String,
    pub(in crate::upstream) token: String,
    pub(in crate::upstream) keys: String,
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

impl Endpoints {
    /// Reads the document of `issuer`.
    pub(in crate::upstream) fn read(answer: &Answer, issuer: &Origin) -> Result<Self, Failure> {
        let document: Document = answer.json().map_err(Failure::of_document)?;
        if document.issuer != issuer.as_str() {
            return Err(Failure::DocumentIssuer);
        }
        let at_home = |text: String| match Url::parse(&text) {
            Err(_) => Err(Failure::Document),
            Ok(url) if is_at_home(&url, issuer) => Ok(url.into()),
            Ok(_) => Err(Failure::DocumentHost),
        };
        Ok(Self {
            authorization: at_home(document.authorization_endpoint)?,
            token: at_home(document.token_endpoint)?,
            keys: at_home(document.jwks_uri)?,
        })
    }
}

fn is_at_home(url: &Url, issuer: &Origin) -> bool {
    let host = url.origin().ascii_serialization();
    let is_bare = url.username().is_empty() && url.query().is_none() && url.fragment().is_none();
    is_bare
        && (host == issuer.as_str()
            || (!issuer.is_loopback() && GOOGLES_OTHER_HOSTS.contains(&host.as_str())))
}
