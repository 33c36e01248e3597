//! The context of a running provider, and its controls: its mode, its `iss` and its queue, with
//! the course of each sign-in: the user, and the misbehaviour if there is one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::expiring_store::HeapSize;
use crate::journal::Journal;
use crate::misbehaviour::{Effect, UnknownMisbehaviour};
use crate::settings::ProviderSettings;
use crate::users::{InvalidUser, KnownUsers, ada};
use crate::{Clock, Iss, Labels, Misbehaviour, Mode, Provider, Settings, User};

/// The fixed settings of one provider, its controls and its journal; shared by its
/// endpoints and its handle.
pub(crate) struct ProviderContext {
    pub(crate) provider: Provider,
    /// The base URL, without a trailing slash.
    pub(crate) url: String,
    pub(crate) settings: ProviderSettings,
    clock: Clock,
    pub(crate) users: KnownUsers,
    pub(crate) labels: Labels,
    controls: Mutex<Controls>,
    pub(crate) journal: Journal,
    app_url: OnceLock<String>,
}

impl ProviderContext {
    /// The context of `provider`, which listens on `address`.
    pub(crate) fn new(provider: Provider, address: SocketAddr, settings: &Settings) -> Self {
        let own = settings.of(provider).clone();
        let url = own.url.clone();
        Self {
            provider,
            url: url.unwrap_or_else(|| format!("http://{address}")),
            controls: Mutex::new(Controls::new(&own)),
            settings: own,
            clock: settings.clock.clone(),
            users: settings.users.clone(),
            labels: settings.labels.clone(),
            journal: Journal::new(),
            app_url: OnceLock::new(),
        }
    }

    /// The URL to which pages that are over lead.
    pub(crate) fn app_url(&self) -> Option<&str> {
        self.app_url.get().map(String::as_str)
    }

    /// Sets that URL, unless it is set.
    pub(crate) fn set_app_url(&self, url: &str) {
        self.app_url.get_or_init(|| url.to_owned());
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    pub(crate) fn controls(&self) -> MutexGuard<'_, Controls> {
        let controls = self.controls.lock();
        controls.expect("nothing panics while it holds the controls")
    }

    /// Restores the initial switches, and empties the queue and the journal.
    pub(crate) fn reset(&self) {
        let mut controls = self.controls();
        *controls = Controls {
            last_id: controls.last_id,
            ..Controls::new(&self.settings)
        };
        self.journal.clear();
    }

    /// Whether metadata may announce `iss`: RFC 9207 promises it for errors, too.
    pub(crate) fn iss_is_in_every_callback(&self) -> bool {
        self.controls().iss == Iss::Errors
    }
}

/// The switches and the queue of one provider.
pub(crate) struct Controls {
    pub(crate) mode: Mode,
    pub(crate) iss: Iss,
    /// The next entry first.
    pub(crate) queue: VecDeque<Queued>,
    /// The number of entries that were ever queued, and the id of the last one. A reset
    /// leaves it: a page from before must not remove an entry of after.
    last_id: u64,
}

impl Controls {
    fn new(settings: &ProviderSettings) -> Self {
        Self {
            mode: settings.mode,
            iss: settings.iss,
            queue: VecDeque::new(),
            last_id: 0,
        }
    }

    /// Queues an entry and returns its id.
    pub(crate) fn add(&mut self, next: Next, label: Option<String>) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.queue.push_back(Queued { id, next, label });
        id
    }

    /// Removes and returns the first entry that matches.
    pub(crate) fn take(&mut self, is_it: impl Fn(&Queued) -> bool) -> Option<Queued> {
        let index = self.queue.iter().position(is_it)?;
        self.queue.remove(index)
    }
}

/// An entry of a provider's queue: the course of one sign-in to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This user signs in.
    User(User),
    /// The default user signs in, with this misbehaviour.
    Misbehave(Misbehaviour),
}

/// A queued entry, and the sign-ins that may take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The number that [removes](crate::Upstream::remove_queued) the entry; a provider
    /// gives each number once, also across resets.
    pub id: u64,
    /// The course of the sign-in.
    pub next: Next,
    /// The label of the only sign-ins that take it; any sign-in does without one.
    pub label: Option<String>,
}

/// The reason why an entry cannot be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The provider cannot have such a user.
    #[error(transparent)]
    User(#[from] InvalidUser),
    /// The provider has no such misbehaviour.
    #[error(transparent)]
    Misbehaviour(#[from] UnknownMisbehaviour),
}

impl Next {
    /// Checks that `provider` has this user or misbehaviour.
    pub(crate) fn check_for(&self, provider: Provider) -> Result<(), QueueError> {
        match self {
            Self::User(user) => user.check_for(provider)?,
            Self::Misbehave(misbehaviour) => {
                Misbehaviour::parse(provider, misbehaviour.name())?;
            }
        }
        Ok(())
    }
}

impl Queued {
    /// Whether a sign-in with this label takes the entry.
    pub(crate) fn is_for(&self, label: Option<&str>) -> bool {
        self.label.is_none() || self.label.as_deref() == label
    }
}

/// The user of a sign-in, and its misbehaviour with the effect.
pub(crate) struct SignInScript {
    pub(crate) user: User,
    pub(crate) misbehaviour: Option<Misbehaviour>,
    pub(crate) effect: Option<Effect>,
}

impl SignInScript {
    pub(crate) fn of(user: User) -> Self {
        Self {
            user,
            misbehaviour: None,
            effect: None,
        }
    }

    /// The sign-in of the default user.
    pub(crate) fn default_at(provider: Provider) -> Self {
        let account = ada().at(provider).cloned();
        Self::of(account.expect("she has an account at both"))
    }

    /// The sign-in of the default user with this misbehaviour.
    pub(crate) fn misbehaving(misbehaviour: Misbehaviour, provider: Provider) -> Self {
        let mut script = Self::default_at(provider);
        script.misbehaviour = Some(misbehaviour);
        script.effect = misbehaviour.effect(provider);
        if let Some(Effect::User(change)) = script.effect {
            change(&mut script.user);
        }
        script
    }

    pub(crate) fn from_next(next: Next, provider: Provider) -> Self {
        match next {
            Next::User(user) => Self::of(user),
            Next::Misbehave(misbehaviour) => Self::misbehaving(misbehaviour, provider),
        }
    }
}

impl HeapSize for SignInScript {
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes()
    }
}
