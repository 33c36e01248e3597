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
    pub(crate) controls: Controls,
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
            controls: Controls::new(&own),
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

    /// The `iss` of a successful callback: `issuer`, another issuer, or none.
    pub(crate) fn iss_of_success<'a>(
        &self,
        issuer: &'a str,
        misbehaviour: Option<Misbehaviour>,
    ) -> Option<&'a str> {
        match (misbehaviour, self.controls.iss()) {
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
        self.controls.iss() == Iss::Errors
    }
}

/// The switches and the queue of one provider.
pub(crate) struct Controls {
    initial: Switches,
    current: Mutex<State>,
}

#[derive(Clone, Copy)]
struct Switches {
    mode: Mode,
    iss: Iss,
}

struct State {
    switches: Switches,
    queue: VecDeque<Queued>,
    /// The number of entries that were ever queued, and the id of the last one. A reset
    /// leaves it: a page from before must not remove an entry of after.
    last_id: u64,
}

impl Controls {
    pub(crate) fn new(settings: &ProviderSettings) -> Self {
        let initial = Switches {
            mode: settings.mode,
            iss: settings.iss,
        };
        let current = State {
            switches: initial,
            queue: VecDeque::new(),
            last_id: 0,
        };
        Self {
            initial,
            current: Mutex::new(current),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.lock().switches.mode
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        self.lock().switches.mode = mode;
    }

    pub(crate) fn iss(&self) -> Iss {
        self.lock().switches.iss
    }

    pub(crate) fn set_iss(&self, iss: Iss) {
        self.lock().switches.iss = iss;
    }

    /// Queues an entry and returns its id.
    pub(crate) fn queue(&self, next: Next, label: Option<String>) -> u64 {
        let mut state = self.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.queue.push_back(Queued { id, next, label });
        id
    }

    /// Removes the entry with this id and returns it; `None` if a sign-in was faster.
    pub(crate) fn remove_queued(&self, id: u64) -> Option<Queued> {
        let queue = &mut self.lock().queue;
        let index = queue.iter().position(|entry| entry.id == id)?;
        queue.remove(index)
    }

    /// Empties the queue and returns its length before.
    pub(crate) fn clear_queue(&self) -> usize {
        let queue = &mut self.lock().queue;
        queue.drain(..).count()
    }

    pub(crate) fn queued(&self) -> Vec<Queued> {
        self.lock().queue.iter().cloned().collect()
    }

    /// Takes the entry for the sign-in that begins now: the first one for any sign-in or
    /// for those with its label. Entries for other labels keep their places.
    pub(crate) fn take_next(&self, label: Option<&str>) -> Option<Next> {
        let queue = &mut self.lock().queue;
        let index = queue.iter().position(|entry| entry.is_for(label))?;
        queue.remove(index).map(|entry| entry.next)
    }

    /// Restores the initial switches and empties the queue.
    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        state.switches = self.initial;
        state.queue.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.current
            .lock()
            .expect("nothing panics while it holds the controls")
    }
}
