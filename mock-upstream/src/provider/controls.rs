//! The controls of a running provider: its mode, its `iss` and its queue.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use crate::script::Queued;
use crate::settings::ProviderSettings;
use crate::{Iss, Mode, Next};

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

    pub(crate) fn queue(&self, entry: Queued) {
        self.lock().queue.push_back(entry);
    }

    pub(crate) fn queued(&self) -> Vec<Queued> {
        self.lock().queue.iter().cloned().collect()
    }

    pub(crate) fn clear_queue(&self) {
        self.lock().queue.clear();
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
