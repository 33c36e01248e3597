//! The context of a running provider, and its controls: its mode, its `iss` and its queue.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::journal::Journal;
use crate::script::Queued;
use crate::settings::ProviderSettings;
use crate::users::KnownUsers;
use crate::{Clock, Iss, Labels, Misbehaviour, Mode, Next, Provider, Settings};

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

    /// The `iss` of a successful callback: `issuer`, another issuer, or none.
    pub(crate) fn iss_of_success<'a>(
        &self,
        issuer: &'a str,
        misbehaviour: Option<Misbehaviour>,
    ) -> Option<&'a str> {
        match (misbehaviour, self.controls().iss) {
            (Some(Misbehaviour::WrongCallbackIssuer), _) => Some("https://issuer.example"),
            (_, Iss::On | Iss::Errors) => Some(issuer),
            (_, Iss::Off) => None,
        }
    }

    /// The `iss` of a callback with an error: `issuer` or none.
    pub(crate) fn iss_of_error<'a>(&self, issuer: &'a str) -> Option<&'a str> {
        self.iss_is_in_every_callback().then_some(issuer)
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
