//! The parameters of a careful broker's requests.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mock_upstream::Provider;
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use super::{CALLBACK, CLIENT_ID, CLIENT_SECRET, NONCE, STATE, VERIFIER};

/// Parameters in their order.
#[derive(Clone, Debug)]
pub(crate) struct Params(pub(crate) Vec<(String, String)>);

impl Params {
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self(owned.collect())
    }

    fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// Sets `name`, in place of any other value.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds `name`, beside any other value.
    fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes these changes, with semicolons between them: `name=value` sets a parameter,
    /// `+name=value` adds it beside any other value, and `-name` removes it.
    pub(crate) fn changed(self, changes: &str) -> Self {
        changes.split("; ").fold(self, |params, change| {
            match (change.strip_prefix('-'), change.split_once('=')) {
                (Some(name), _) => params.without(name),
                (None, Some((name, value))) => match name.strip_prefix('+') {
                    Some(name) => params.and(name, value),
                    None => params.with(name, value),
                },
                (None, None) => params,
            }
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish()
    }
}

/// A careful broker's authorization request.
pub(crate) fn authorization(provider: Provider) -> Params {
    let common = Params::of(&[
        ("client_id", CLIENT_ID),
        ("redirect_uri", CALLBACK),
        ("state", STATE),
        (
            "code_challenge",
            &URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER)),
        ),
        ("code_challenge_method", "S256"),
    ]);
    match provider {
        Provider::Google => common
            .with("response_type", "code")
            .with("scope", "openid email profile")
            .with("nonce", NONCE),
        Provider::GitHub => common.with("scope", "read:user user:email"),
    }
}

/// A careful broker's token request.
pub(crate) fn redemption(code: &str) -> Params {
    Params::of(&[
        ("grant_type", "authorization_code"),
        ("client_id", CLIENT_ID),
        ("client_secret", CLIENT_SECRET),
        ("redirect_uri", CALLBACK),
        ("code", code),
        ("code_verifier", VERIFIER),
    ])
}
