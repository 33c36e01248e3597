//! The handles on a running mock.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::desk::Desk;
use crate::github::GitHub;
use crate::google::{Google, KeyRing};
use crate::journal::Entry;
use crate::people::InvalidPerson;
use crate::server::{Dialect, Server};
use crate::settings::{Settings, Site};
use crate::{Clock, Iss, Misbehaviour, Mode, Next, Provider};

/// Both providers, running until this is dropped.
pub struct MockUpstream {
    google: Upstream,
    github: Upstream,
    google_keys: Arc<KeyRing>,
}

/// Why a mock upstream did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on; most likely it is taken.
    #[error("the mock of {provider} cannot listen on {address}: {source}")]
    Listen {
        /// Whose address it is.
        provider: Provider,
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

/// Why an entry cannot be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The provider can have no such person.
    #[error(transparent)]
    Person(#[from] InvalidPerson),
    /// The provider cannot do this wrong.
    #[error(transparent)]
    Misbehaviour(#[from] crate::misbehaviour::UnknownMisbehaviour),
}

impl MockUpstream {
    /// Starts both providers; when this returns, they answer.
    ///
    /// # Errors
    ///
    /// When an address cannot be listened on; the error names it.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let google_keys = Arc::new(KeyRing::new());
        let keys = Arc::clone(&google_keys);
        let Settings {
            google,
            github,
            clock,
        } = settings;
        Ok(Self {
            google: Upstream::start(Provider::Google, google, &clock, |desk| {
                Arc::new(Google::new(desk, keys))
            })
            .await?,
            github: Upstream::start(Provider::GitHub, github, &clock, |desk| {
                Arc::new(GitHub::new(desk))
            })
            .await?,
            google_keys,
        })
    }

    /// The handle on Google.
    #[must_use]
    pub fn google(&self) -> &Upstream {
        &self.google
    }

    /// The handle on GitHub.
    #[must_use]
    pub fn github(&self) -> &Upstream {
        &self.github
    }

    /// The handle on `provider`.
    #[must_use]
    pub fn provider(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Google => &self.google,
            Provider::GitHub => &self.github,
        }
    }

    /// Takes Google's keys one step further: a third key joins the two and
    /// signs from now on, or the oldest of three goes.
    pub fn rotate_google_keys(&self) {
        self.google_keys.rotate();
    }

    /// Takes both providers back to the start.
    pub fn reset(&self) {
        for provider in Provider::ALL {
            self.provider(provider).reset();
        }
    }
}

/// One provider, running.
pub struct Upstream {
    desk: Arc<Desk>,
    dialect: Arc<dyn Dialect>,
    _server: Server,
}

impl Upstream {
    async fn start(
        provider: Provider,
        site: Site,
        clock: &Clock,
        dialect: impl FnOnce(Arc<Desk>) -> Arc<dyn Dialect>,
    ) -> Result<Self, StartError> {
        let address = site.listen;
        let failed = |source| StartError::Listen {
            provider,
            address,
            source,
        };
        let (listener, url) = listen(&site).map_err(failed)?;
        let desk = Arc::new(Desk::new(provider, url, site, clock.clone()));
        let dialect = dialect(Arc::clone(&desk));
        let server = Server::start(listener, Arc::clone(&desk), Arc::clone(&dialect));
        Ok(Self {
            desk,
            dialect,
            _server: server.await.map_err(failed)?,
        })
    }

    /// Which provider this is.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.desk.provider
    }

    /// Where it is, without a trailing slash.
    ///
    /// For Google also the issuer. For GitHub the base of the web pages and of
    /// the REST API alike; its issuer is this with `/login/oauth`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.desk.url
    }

    /// Sets how sign-ins are answered when the queue is empty.
    pub fn set_mode(&self, mode: Mode) {
        self.desk.script.set_mode(mode);
    }

    /// Sets when the callback carries `iss`.
    pub fn set_iss(&self, iss: Iss) {
        self.desk.script.set_iss(iss);
    }

    /// Decides one sign-in to come, in either mode, behind those already queued.
    ///
    /// # Errors
    ///
    /// When this provider has no such person or misbehaviour.
    pub fn queue(&self, next: Next) -> Result<(), QueueError> {
        match &next {
            Next::Person(person) => person.check_for(self.provider())?,
            Next::Misbehave(misbehaviour) => {
                Misbehaviour::parse(self.provider(), misbehaviour.name())?;
            }
        }
        self.desk.script.queue(next);
        Ok(())
    }

    /// What is queued, the next first.
    #[must_use]
    pub fn queued(&self) -> Vec<Next> {
        self.desk.script.queued()
    }

    /// What it can do wrong.
    #[must_use]
    pub fn misbehaviours(&self) -> &'static [Misbehaviour] {
        Misbehaviour::of(self.provider())
    }

    /// The last requests, oldest first.
    #[must_use]
    pub fn journal(&self) -> Vec<Entry> {
        self.desk.journal.read()
    }

    /// The bytes that it remembers of sign-ins: of those that wait for a choice, of
    /// codes and of tokens. However many come, and however long what they bring, it is
    /// bounded.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.dialect.bytes_held()
    }

    /// Back to the start: no codes, tokens, waiting pages, queue or journal; the
    /// first switches and keys.
    pub fn reset(&self) {
        self.dialect.reset();
        self.desk.script.reset();
        self.desk.journal.clear();
    }
}

impl fmt::Debug for MockUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockUpstream")
            .field("google", &self.google)
            .field("github", &self.github)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("provider", &self.desk.provider)
            .field("url", &self.desk.url)
            .finish_non_exhaustive()
    }
}

/// A listener, and the URL that leads to it.
fn listen(site: &Site) -> io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(site.listen)?;
    let address = listener.local_addr()?;
    let url = match &site.host {
        Some(host) => format!("http://{host}:{}", address.port()),
        None => format!("http://{address}"),
    };
    Ok((listener, url))
}
