//! What a mock upstream starts with: where to listen, and which client the
//! providers know.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use url::{Url, form_urlencoded};

use crate::{Clock, Iss, Mode, Unconfirmed};

/// Everything a [`MockUpstream`](crate::MockUpstream) starts with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Google's part.
    pub google: Site,
    /// GitHub's part.
    pub github: Site,
    /// What codes, tokens and ID tokens are judged by.
    pub clock: Clock,
}

impl Settings {
    /// Both providers on free loopback ports, by the system's clock.
    #[must_use]
    pub fn new(google: Client, github: Client) -> Self {
        Self {
            google: Site::new(google),
            github: Site::new(github),
            clock: Clock::system(),
        }
    }
}

/// One provider's part of the [`Settings`].
#[derive(Clone, Debug)]
pub struct Site {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The host name in the provider's URL, when it is not the address itself:
    /// `upstream.localhost`, for a provider on a site of its own.
    pub host: Option<String>,
    /// The one client that is registered.
    pub client: Client,
    /// How sign-ins are answered at the start and after a reset.
    pub mode: Mode,
    /// When `iss` is sent, at the start and after a reset.
    pub iss: Iss,
    /// How many calls of GitHub's REST API a person may make in an hour: 5,000 at
    /// the real one. None: they are counted and never refused, because many tests
    /// sign the same person in.
    pub hourly_calls: Option<u32>,
    /// What nobody could confirm.
    pub unconfirmed: Unconfirmed,
}

impl Site {
    /// On a free loopback port, automatic, with `iss`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            host: None,
            client,
            mode: Mode::Automatic,
            iss: Iss::On,
            hourly_calls: None,
            unconfirmed: Unconfirmed::default(),
        }
    }
}

/// A client as it is registered with a provider.
#[derive(Clone)]
pub struct Client {
    client_id: String,
    client_secret: String,
    first: RedirectUri,
    others: Vec<RedirectUri>,
}

/// Why a client cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClient {
    /// Nowhere to send a browser back to.
    #[error("a client needs at least one redirect URI")]
    NoRedirectUri,
    /// A redirect URI that no browser could be sent to.
    #[error("a redirect URI must be an absolute http or https URL without a fragment")]
    RedirectUri,
}

impl Client {
    /// A client with the callbacks a browser may be sent back to.
    ///
    /// # Errors
    ///
    /// When there is no redirect URI, or one that is not an absolute `http` or
    /// `https` URL without a fragment.
    pub fn new<Uri: AsRef<str>>(
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
        redirect_uris: impl IntoIterator<Item = Uri>,
    ) -> Result<Self, InvalidClient> {
        let mut uris = redirect_uris
            .into_iter()
            .map(|uri| RedirectUri::parse(uri.as_ref()));
        Ok(Self {
            client_id: client_id.into(),
            client_secret: client_secret.into(),
            first: uris.next().ok_or(InvalidClient::NoRedirectUri)??,
            others: uris.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn is(&self, client_id: &str) -> bool {
        self.client_id == client_id
    }

    pub(crate) fn has_secret(&self, client_secret: &str) -> bool {
        self.client_secret == client_secret
    }

    pub(crate) fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The redirect URI registered first.
    pub(crate) fn first_redirect_uri(&self) -> &RedirectUri {
        &self.first
    }

    /// The registered redirect URI that is `text`, byte for byte.
    pub(crate) fn redirect_uri(&self, text: &str) -> Option<&RedirectUri> {
        std::iter::once(&self.first)
            .chain(&self.others)
            .find(|registered| registered.as_str() == text)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("client_id", &self.client_id)
            .field("client_secret", &"[redacted]")
            .finish_non_exhaustive()
    }
}

/// A registered callback, kept as it was written: both providers compare bytes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RedirectUri {
    text: String,
    host: String,
}

impl RedirectUri {
    fn parse(text: &str) -> Result<Self, InvalidClient> {
        let url = Url::parse(text).map_err(|_| InvalidClient::RedirectUri)?;
        // `Url` forgives spaces and tabs; a `Location` header does not.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidClient::RedirectUri);
        }
        match (url.scheme(), url.host_str(), url.fragment()) {
            ("http" | "https", Some(host), None) => Ok(Self {
                text: text.to_owned(),
                host: host.to_owned(),
            }),
            _ => Err(InvalidClient::RedirectUri),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, for the page that says where the browser goes next.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The URI with `pairs` added to its query, in their order.
    pub(crate) fn with<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish();
        let separator = if self.text.contains('?') { '&' } else { '?' };
        format!("{}{separator}{query}", self.text)
    }
}
