//! The clients that a provider serves, as they are registered with it.

use std::fmt;

use url::{Url, form_urlencoded};

use crate::expiring_store::HeapSize;

/// The clients that a provider serves.
#[derive(Clone, Debug)]
pub enum Clients {
    /// These; a request of any other one is refused.
    Registered(Vec<Client>),
    /// Any client, with any secret and any redirect URI.
    Any,
}

/// A client: its credentials and its redirect URIs.
#[derive(Clone)]
pub struct Client {
    client_id: String,
    name: Option<String>,
    registration: Registration,
}

/// The secret and the redirect URIs of a client.
#[derive(Clone)]
enum Registration {
    /// This secret and these redirect URIs.
    Strict {
        client_secret: String,
        /// At least one.
        redirect_uris: Vec<RedirectUri>,
    },
    /// Any of them.
    Any,
}

/// The reason why a client cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClient {
    /// The client has no redirect URI.
    #[error("a client needs at least one redirect URI")]
    NoRedirectUri,
    /// A redirect URI is not an absolute web address.
    #[error("a redirect URI must be an absolute http or https URL without a fragment")]
    RedirectUri,
}

impl Client {
    /// Registers a client with its redirect URIs.
    ///
    /// # Errors
    ///
    /// Fails without a redirect URI, and on one that is not an absolute `http` or
    /// `https` URL without a fragment.
    pub fn new<Uri: AsRef<str>>(
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
        redirect_uris: impl IntoIterator<Item = Uri>,
    ) -> Result<Self, InvalidClient> {
        let uris = redirect_uris.into_iter();
        let uris = uris.map(|uri| RedirectUri::parse(uri.as_ref()));
        let redirect_uris: Vec<_> = uris.collect::<Result<_, _>>()?;
        if redirect_uris.is_empty() {
            return Err(InvalidClient::NoRedirectUri);
        }
        Ok(Self {
            client_id: client_id.into(),
            name: None,
            registration: Registration::Strict {
                client_secret: client_secret.into(),
                redirect_uris,
            },
        })
    }

    /// The client with the name that the sign-in page shows; without one it shows the id.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.client_id)
    }

    /// Whether `client_secret` authenticates the client. Both providers require one, so that
    /// any secret is not the same as none.
    pub(crate) fn has_secret(&self, client_secret: &str) -> bool {
        match &self.registration {
            Registration::Strict {
                client_secret: registered,
                ..
            } => registered == client_secret,
            Registration::Any => !client_secret.is_empty(),
        }
    }

    /// The public identifier of the client.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The redirect URI that was registered first, if any was.
    pub(crate) fn first_redirect_uri(&self) -> Option<&RedirectUri> {
        match &self.registration {
            Registration::Strict { redirect_uris, .. } => redirect_uris.first(),
            Registration::Any => None,
        }
    }

    /// The registered redirect URI that equals `text`, byte for byte.
    pub(crate) fn redirect_uri(&self, text: &str) -> Option<RedirectUri> {
        match &self.registration {
            Registration::Strict { redirect_uris, .. } => {
                let mut registered = redirect_uris.iter();
                registered.find(|it| it.as_str() == text).cloned()
            }
            Registration::Any => RedirectUri::parse(text).ok(),
        }
    }
}

impl Clients {
    /// The client with this id.
    pub(crate) fn find(&self, client_id: &str) -> Option<Client> {
        match self {
            Self::Registered(clients) => {
                let mut clients = clients.iter();
                clients.find(|it| it.client_id == client_id).cloned()
            }
            Self::Any => Some(Client {
                client_id: client_id.to_owned(),
                name: None,
                registration: Registration::Any,
            }),
        }
    }
}

impl From<Client> for Clients {
    fn from(client: Client) -> Self {
        Self::Registered(vec![client])
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

/// A registered redirect URI in its original spelling: both providers compare bytes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RedirectUri {
    text: String,
    host: String,
}

impl RedirectUri {
    fn parse(text: &str) -> Result<Self, InvalidClient> {
        let url = Url::parse(text).map_err(|_| InvalidClient::RedirectUri)?;
        // `Url` accepts spaces and tabs; a `Location` header does not.
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

    /// The host, for the page that names the browser's next destination.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The origin, for the page that leads back to it.
    pub(crate) fn origin(&self) -> String {
        let url = Url::parse(&self.text).expect("it was parsed before");
        url.origin().ascii_serialization()
    }

    /// The URI with these parameters appended to its query, in their order; one without a value
    /// is left out.
    pub(crate) fn with_params<'a>(
        &self,
        params: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> String {
        let params = params.into_iter();
        let pairs = params.filter_map(|(name, value)| Some((name, value?)));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish();
        let separator = if self.text.contains('?') { '&' } else { '?' };
        format!("{}{separator}{query}", self.text)
    }
}

impl HeapSize for Client {
    /// Its id, which a browser may choose; its registration is in the settings.
    fn heap_bytes(&self) -> usize {
        self.client_id.len()
    }
}

impl HeapSize for RedirectUri {
    /// A browser chooses it where any is accepted.
    fn heap_bytes(&self) -> usize {
        self.text.len() + self.host.len()
    }
}
