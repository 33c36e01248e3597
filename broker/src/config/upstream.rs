//! The `[upstream]` table.

use std::time::Duration;

use contract::{Origin, Provider, redacted};
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use url::Url;

use super::error::ConfigError;
use super::tls::CaCertificates;

/// The `[upstream]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamConfig {
    /// The time limit of one call to a provider, in milliseconds.
    pub timeout_ms: u64,
    /// The proxy for calls to providers.
    pub proxy: ProxyConfig,
    /// The certificate authorities that are trusted besides the system's.
    pub ca_file: Option<CaCertificates>,
    /// The name of this machine at which imitations of the providers listen besides
    /// loopback. Only a broker that is configured in code can have them.
    #[serde(skip)]
    pub imitations_at: Option<String>,
    /// `[upstream.google]`; absent means not configured.
    pub google: Option<GoogleConfig>,
    /// `[upstream.github]`; absent means not configured.
    pub github: Option<GitHubConfig>,
}

/// The `[upstream.google]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoogleConfig {
    /// The client ID in Google's console.
    pub client_id: String,
    /// The client secret in Google's console.
    pub client_secret: UpstreamSecret,
    /// Whether users may sign in through Google.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The issuer: of the discovery document and of ID tokens.
    #[serde(default = "google_issuer")]
    pub issuer: Origin,
}

/// The `[upstream.github]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitHubConfig {
    /// The client ID in GitHub's settings.
    pub client_id: String,
    /// A client secret in GitHub's settings.
    pub client_secret: UpstreamSecret,
    /// Whether users may sign in through GitHub.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The server where users sign in and codes are exchanged.
    #[serde(default = "github_web")]
    pub web_url: Origin,
    /// The server of the REST API.
    #[serde(default = "github_api")]
    pub api_url: Origin,
}

impl UpstreamConfig {
    /// Whether a provider is enabled; `None` if it is not configured.
    pub(crate) fn is_enabled(&self, provider: Provider) -> Option<bool> {
        match provider {
            Provider::Google => self.google.as_ref().map(|google| google.enabled),
            Provider::GitHub => self.github.as_ref().map(|github| github.enabled),
        }
    }

    /// The time limit of one call.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// The certificate authorities that are trusted besides the system's.
    pub(crate) fn ca_certificates(&self) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let certificates = self.ca_file.as_ref().map(CaCertificates::read);
        certificates.unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Whether any call to a provider may need TLS.
    pub(crate) fn may_need_tls(&self) -> bool {
        let google = self.google.iter().map(|it| &it.issuer);
        let github = self.github.iter().flat_map(|it| [&it.web_url, &it.api_url]);
        !matches!(self.proxy, ProxyConfig::None) || google.chain(github).any(Origin::is_https)
    }

    /// Whether an imitation listens at `url`.
    fn imitates(&self, url: &Origin) -> bool {
        let url = Url::parse(url.as_str());
        let host = url.as_ref().ok().and_then(Url::host_str);
        host.is_some() && host == self.imitations_at.as_deref()
    }

    /// Rejects servers of others, and unusable certificates.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_servers()?;
        self.ca_certificates().map(drop)
    }

    /// Rejects servers that are neither the provider's nor loopback: a subject is made
    /// of the provider's name and the user's id there, and every other server numbers
    /// its users anew.
    fn check_servers(&self) -> Result<(), ConfigError> {
        let is = |url: &Origin, own| *url == own || url.is_loopback() || self.imitates(url);
        if let Some(google) = &self.google
            && !is(&google.issuer, google_issuer())
        {
            return Err(ConfigError::Foreign(
                "upstream.google.issuer is neither https://accounts.google.com nor loopback: \
                 the users of another issuer would be taken for Google's",
            ));
        }
        if let Some(github) = &self.github
            && !(is(&github.web_url, github_web()) && is(&github.api_url, github_api()))
        {
            return Err(ConfigError::Foreign(
                "upstream.github.web_url and .api_url are neither https://github.com and \
                 https://api.github.com nor loopback: a GitHub Enterprise Server numbers its \
                 users from 1 as github.com does, and two users would share a subject",
            ));
        }
        Ok(())
    }
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            proxy: ProxyConfig::None,
            ca_file: None,
            imitations_at: None,
            google: None,
            github: None,
        }
    }
}

/// Our client secret at a provider. `Debug` is redacted.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct UpstreamSecret(String);

impl TryFrom<String> for UpstreamSecret {
    type Error = &'static str;

    /// A secret is printable ASCII (RFC 6749, A.2), and more than the dots of an example.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_secret = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match is_secret && text.bytes().any(|byte| byte != b'.' && byte != b' ') {
            true => Ok(Self(text)),
            false => Err("this is a placeholder, and no client secret"),
        }
    }
}

impl UpstreamSecret {
    /// A secret for a broker that is configured in code.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the provider alone.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

redacted!(UpstreamSecret);

/// `upstream.proxy`: `"none"`, `"environment"`, or the proxy's address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum ProxyConfig {
    /// No proxy, whatever the environment says.
    #[default]
    None,
    /// The proxy of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
    /// The proxy at this address.
    At(ProxyUrl),
}

impl ProxyConfig {
    /// Whether its address contains a password.
    pub(super) fn has_password(&self) -> bool {
        matches!(self, Self::At(url) if url.0.password().is_some())
    }
}

/// A proxy's address, which may contain a password. `Debug` is redacted.
#[derive(Clone)]
pub struct ProxyUrl(Url);

impl ProxyUrl {
    /// The address, for the HTTP client alone.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

redacted!(ProxyUrl);

impl TryFrom<String> for ProxyConfig {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "none" => Ok(Self::None),
            "environment" => Ok(Self::Environment),
            address => match Url::parse(address) {
                Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Self::At(ProxyUrl(url))),
                _ => Err("expected none, environment, or a proxy's http or https URL"),
            },
        }
    }
}

fn yes() -> bool {
    true
}

fn google_issuer() -> Origin {
    known_origin("https://accounts.google.com")
}

fn github_web() -> Origin {
    known_origin("https://github.com")
}

fn github_api() -> Origin {
    known_origin("https://api.github.com")
}

fn known_origin(text: &str) -> Origin {
    text.parse().expect("a constant of ours is well formed")
}
