//! The handles of a running mock.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::github::GitHub;
use crate::google::Google;
use crate::http::{Request, Server};
use crate::journal::{BackendCall, Entry, Recipient};
use crate::provider::context::{ProviderContext, QueueError, Queued};
use crate::provider::{Endpoints, pages};
use crate::users::UnknownKey;
use crate::{Iss, Misbehaviour, Mode, Next, Provider, Settings, User};

/// Both providers, which run until this is dropped.
#[derive(Debug)]
pub struct MockUpstream {
    google: Upstream,
    github: Upstream,
}

/// The reason why a mock upstream did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on; most likely it is in use.
    #[error("the mock of {provider} cannot listen on {address}: {source}")]
    Listen {
        /// The provider with this address.
        provider: Provider,
        /// The address in the settings.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl MockUpstream {
    /// Starts both providers; they answer as soon as this returns.
    ///
    /// # Errors
    ///
    /// Fails if an address cannot be listened on; the error names it.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        crypto::install();
        Ok(Self {
            google: Upstream::start(Provider::Google, &settings).await?,
            github: Upstream::start(Provider::GitHub, &settings).await?,
        })
    }

    /// The handle of Google.
    #[must_use]
    pub fn google(&self) -> &Upstream {
        &self.google
    }

    /// The handle of GitHub.
    #[must_use]
    pub fn github(&self) -> &Upstream {
        &self.github
    }

    /// The handle of `provider`.
    #[must_use]
    pub fn provider(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Google => &self.google,
            Provider::GitHub => &self.github,
        }
    }

    /// Rotates Google's keys by one step: either a third key joins the two and signs from
    /// now on, or the oldest of three is removed.
    pub fn rotate_google_keys(&self) {
        self.google.endpoints.rotate_keys();
    }

    /// Sets the URL of the app to which pages lead whose sign-in is over; the first call
    /// counts. Without it they lead to the origin of the sign-in's redirect URI, which is
    /// that of a broker if there is one.
    pub fn set_app_url(&self, url: &str) {
        for provider in Provider::ALL {
            self.provider(provider).context.set_app_url(url);
        }
    }

    /// Resets both providers.
    pub fn reset(&self) {
        for provider in Provider::ALL {
            self.provider(provider).reset();
        }
    }
}

/// The handle of one running provider.
pub struct Upstream {
    context: Arc<ProviderContext>,
    endpoints: Arc<dyn Endpoints>,
    address: SocketAddr,
    _server: Server,
}

impl Upstream {
    async fn start(provider: Provider, settings: &Settings) -> Result<Self, StartError> {
        let address = settings.of(provider).listen;
        let failed = |source| StartError::Listen {
            provider,
            address,
            source,
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let context = Arc::new(ProviderContext::new(provider, address, settings));
        let endpoints: Arc<dyn Endpoints> = match provider {
            Provider::Google => Arc::new(Google::new(Arc::clone(&context))),
            Provider::GitHub => Arc::new(GitHub::new(Arc::clone(&context))),
        };
        let server = serve(listener, Arc::clone(&context), Arc::clone(&endpoints));
        Ok(Self {
            context,
            endpoints,
            address,
            _server: server.await.map_err(failed)?,
        })
    }

    /// The provider behind this handle.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.context.provider
    }

    /// The base URL, without a trailing slash.
    ///
    /// For Google it is also the issuer. For GitHub it is the base of the web pages and of
    /// the REST API alike; the issuer is this URL with `/login/oauth`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.context.url
    }

    /// The URLs that a client is configured with, by what they are: `token endpoint`.
    #[must_use]
    pub fn endpoints(&self) -> Vec<(&'static str, String)> {
        self.endpoints.urls()
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it serves the client with this id.
    #[must_use]
    pub fn has_client(&self, client_id: &str) -> bool {
        !client_id.is_empty() && self.context.settings.clients.find(client_id).is_some()
    }

    /// The way in which sign-ins are answered while the queue is empty.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.context.controls().mode
    }

    /// Sets the way in which sign-ins are answered while the queue is empty.
    pub fn set_mode(&self, mode: Mode) {
        self.context.controls().mode = mode;
    }

    /// The callbacks that carry `iss`.
    #[must_use]
    pub fn iss(&self) -> Iss {
        self.context.controls().iss
    }

    /// Sets which callbacks carry `iss`.
    pub fn set_iss(&self, iss: Iss) {
        self.context.controls().iss = iss;
    }

    /// Queues the course of one sign-in, in either mode, and returns the id of the entry.
    ///
    /// # Errors
    ///
    /// Fails if this provider has no such user or misbehaviour.
    pub fn queue(&self, next: Next) -> Result<u64, QueueError> {
        self.add_to_queue(next, None)
    }

    /// Queues the course of one sign-in with this label, in either mode, and returns the id
    /// of the entry. Other sign-ins leave it in its place.
    ///
    /// # Errors
    ///
    /// Fails if this provider has no such user or misbehaviour.
    pub fn queue_for(&self, label: impl Into<String>, next: Next) -> Result<u64, QueueError> {
        self.add_to_queue(next, Some(label.into()))
    }

    fn add_to_queue(&self, next: Next, label: Option<String>) -> Result<u64, QueueError> {
        next.check_for(self.provider())?;
        Ok(self.context.controls().add(next, label))
    }

    /// Removes one queued entry and returns it, so that it happens at no sign-in; `None` if
    /// it is not in the queue: a sign-in took it, or it was removed or reset before.
    pub fn remove_queued(&self, id: u64) -> Option<Queued> {
        self.context.controls().take(|entry| entry.id == id)
    }

    /// Empties the queue and returns the number of entries that were in it.
    pub fn clear_queue(&self) -> usize {
        self.context.controls().queue.drain(..).count()
    }

    /// The account of a user whom the sign-in page offers.
    ///
    /// # Errors
    ///
    /// Fails if no user with an account at this provider has the key.
    pub fn known_user(&self, key: &str) -> Result<User, UnknownKey> {
        let provider = self.provider();
        let known = self.context.users.find(provider, key).cloned();
        known.ok_or(UnknownKey(provider))
    }

    /// The queue, the next entry first.
    #[must_use]
    pub fn queued(&self) -> Vec<Queued> {
        self.context.controls().queue.iter().cloned().collect()
    }

    /// The misbehaviours that this provider has.
    #[must_use]
    pub fn misbehaviours(&self) -> &'static [Misbehaviour] {
        Misbehaviour::of(self.provider())
    }

    /// The last requests, the oldest first.
    #[must_use]
    pub fn journal(&self) -> Vec<Entry> {
        self.context.journal.entries()
    }

    /// The last calls of backends with a code or a token, the oldest first, with their
    /// secrets.
    #[must_use]
    pub fn backend_calls(&self) -> Vec<Arc<BackendCall>> {
        self.context.journal.calls()
    }

    /// The misbehaviours of the last sign-ins, each with the `state` of its request, the oldest
    /// first.
    #[must_use]
    pub fn misbehaved(&self) -> Vec<(String, Misbehaviour)> {
        self.context.journal.misbehaviours()
    }

    /// The bytes that pending sign-ins, codes and tokens take; bounded, however many
    /// there are and however long their parameters.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.endpoints.bytes_held()
    }

    /// Restores the initial state: no codes, tokens, pending sign-ins, queue or journal,
    /// no user whom a browser signs in again; the initial mode, `iss` and keys.
    pub fn reset(&self) {
        self.endpoints.reset();
        self.context.reset();
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("provider", &self.context.provider)
            .field("url", &self.context.url)
            .finish_non_exhaustive()
    }
}

/// Serves the endpoints and records each request.
async fn serve(
    listener: TcpListener,
    context: Arc<ProviderContext>,
    endpoints: Arc<dyn Endpoints>,
) -> io::Result<Server> {
    let handler = move |request: &Request| {
        let response = match request.unclear_header() {
            Some(name) => pages::unclear_header(context.provider, name),
            None => endpoints.respond(request),
        };
        let now_ms = context.now_ms();
        let report =
            |token: &str, recipient: &Recipient<'_>| endpoints.id_token_report(token, recipient);
        context.journal.record(now_ms, request, &response, &report);
        response
    };
    Server::start(listener, handler).await
}
