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
