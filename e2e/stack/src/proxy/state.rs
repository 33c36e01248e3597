//! The state that a proxy shares with the control address.

use crate::event_log::{EventLog, ProxyEvent};
use crate::faults::Faults;
use crate::time::StackClock;

use super::resends::Resends;

/// The faults, event log and clock of a proxy. They survive a reset of the stack, which
/// clears them.
#[derive(Debug, Default)]
pub struct ProxyState {
    /// The armed faults.
    pub faults: Faults,
    /// The log of every event and exchange.
    pub event_log: EventLog,
    /// The time of the proxy's events.
    pub clock: StackClock,
    pub(super) resends: Resends,
}

impl ProxyState {
    pub(crate) fn new(clock: StackClock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Disarms all faults and forgets all events and lost calls.
    pub(crate) fn clear(&self) {
        self.faults.clear();
        self.event_log.clear();
        self.resends.clear();
    }

    pub(super) fn record(&self, event: ProxyEvent<'_>) {
        self.event_log.append(event.at(self.clock.now_ms()));
    }
}
