//! The faults of the proxy, and the armed ones: which fault, at which call of which
//! project, once or for one login.

mod answer;
mod held;
#[cfg(test)]
mod tests;

pub use answer::{FaultAnswer, MalformedAnswer};
pub use held::HeldCall;
use held::HeldCalls;

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::model::LoginId;
use contract::ClientId;
use serde::Serialize;

use crate::operation::{BrokerOperation, CallOwner, list};

/// The effect of a fault on the broker's answer, as far as a client can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// There is none: the broker does not see the call.
    Unseen,
    /// The call waits before the broker sees it; then it arrives.
    HeldCall,
    /// Another one, or the end of the connection, arrives in its place.
    Replaced,
    /// It arrives, soon.
    Late,
    /// It arrives, after the patience of most clients.
    Slow,
    /// The call ends with the client's patience.
    Endless,
}

/// Declares the faults by what the broker does, each with its name, its label, its effect and
/// what the client gets.
macro_rules! faults {
    ($($broker:literal {
        $($fault:ident = $name:literal, $label:literal, $effect:ident, $client:literal;)+
    })+) => {
        /// A fault that the proxy can inject into a call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Fault {
            $($(#[doc = concat!("The client gets ", $client, ".")] $fault,)+)+
        }

        impl Fault {
            /// Every fault.
            pub const ALL: &[Self] = &[$($(Self::$fault),+),+];

            /// The name in the control API: `lose_response`.
            pub fn name(self) -> &'static str {
                match self { $($(Self::$fault => $name,)+)+ }
            }

            /// The effect in a few words.
            pub fn label(self) -> &'static str {
                match self { $($(Self::$fault => $label,)+)+ }
            }

            /// The client's end of the call: `a closed connection`.
            pub fn client(self) -> &'static str {
                match self { $($(Self::$fault => $client,)+)+ }
            }

            /// The broker's end of the call: `does not see the call`.
            pub fn broker(self) -> &'static str {
                match self { $($(Self::$fault => $broker,)+)+ }
            }

            /// Both, as a sentence.
            pub fn description(self) -> &'static str {
                match self { $($(
                    Self::$fault => concat!("The broker ", $broker, "; the client gets ", $client, "."),
                )+)+ }
            }

            fn effect(self) -> Effect {
                match self { $($(Self::$fault => Effect::$effect,)+)+ }
            }
        }
    };
}

faults! {
    "does not see the call" {
        Refuse = "refuse", "refuse the connection", Unseen, "a closed connection";
    }
    "answers and its commit stands" {
        LoseResponse = "lose_response", "lose the answer", Replaced,
            "a closed connection, without a byte";
        Truncate = "truncate", "cut the answer short", Replaced,
            "the head and half the body, then a closed connection";
        Html502 = "html_502", "a proxy’s page, 502", Replaced, "a proxy's page with status 502";
        Html200 = "html_200", "a foreign page, 200", Replaced, "a foreign page with status 200";
        Delay = "delay", "delay the answer", Late, "the answer late, by 1000 ms or delay_ms";
        Silence = "silence", "stay silent", Endless,
            "nothing, on a connection that stays open until the client leaves, 60 seconds at most";
        Drip = "drip", "one byte at a time", Slow,
            "the head at once, then one byte of the body every half second";
        Endless = "endless", "an endless answer", Endless,
            "200 and application/json, then 1.6 MB of spaces a second, 60 seconds at most";
        Answer = "answer", "another answer", Replaced,
            "another answer, 200 and {} or the one in answer";
        HoldResponse = "hold_response", "hold the answer", Slow, "the answer, once you let it go";
    }
    "does not see the call until you let it go" {
        HoldRequest = "hold_request", "hold the call", HeldCall,
            "the answer, once the call has gone on";
    }
}

impl Fault {
    /// Whether the fault strikes before the broker has seen the call.
    pub(crate) fn is_before_broker(self) -> bool {
        matches!(self.effect(), Effect::Unseen | Effect::HeldCall)
    }

    /// Whether a client that waits gets the broker's whole answer in the end.
    pub(crate) fn keeps_waiting(self) -> bool {
        self.effect() == Effect::HeldCall || self.delivers_answer()
    }

    /// Whether the broker's answer never arrives, however long a client waits for it; another
    /// one may.
    pub(crate) fn replaces_answer(self) -> bool {
        matches!(self.effect(), Effect::Replaced | Effect::Endless)
    }

    /// Whether a client that waits gets the broker's whole answer to a call that it has seen.
    pub(crate) fn delivers_answer(self) -> bool {
        matches!(self.effect(), Effect::Late | Effect::Slow)
    }

    /// Whether the call ends before the patience of its client.
    pub fn ends_soon(self) -> bool {
        matches!(
            self.effect(),
            Effect::Unseen | Effect::Replaced | Effect::Late
        )
    }
}

/// No fault has this name; the message lists the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the faults are {}; GET /api/fault-kinds says what each does",
    list(Fault::ALL.iter().map(|fault| fault.name()))
)]
pub struct UnknownFault;

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let is_named = |fault: &&Fault| fault.name() == name;
        Fault::ALL
            .iter()
            .find(is_named)
            .copied()
            .ok_or(UnknownFault)
    }
}

/// A fault, with the calls that it applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultInjection {
    /// The operation whose calls are counted.
    pub operation: BrokerOperation,
    /// The fault.
    pub fault: Fault,
    /// The number of the call, counted from now on: 1 is the next.
    pub nth: u32,
    /// Whether the fault also applies to every later call of the operation for the same
    /// login.
    pub sticky: bool,
    /// The project whose calls alone are counted; every call is without one.
    pub client_id: Option<ClientId>,
    /// The delay of [`Fault::Delay`].
    pub delay: Duration,
    /// The answer of [`Fault::Answer`].
    pub answer: FaultAnswer,
}

impl FaultInjection {
    /// `fault` at the next call of `operation`, once, with a delay of one second and an
    /// empty JSON object as the other answer.
    pub fn next(operation: BrokerOperation, fault: Fault) -> Self {
        Self {
            operation,
            fault,
            nth: 1,
            sticky: false,
            client_id: None,
            delay: Duration::from_secs(1),
            answer: FaultAnswer::default(),
        }
    }

    /// [`Fault::Answer`] with `answer` at the next call of `operation`, once.
    pub fn answer(operation: BrokerOperation, answer: FaultAnswer) -> Self {
        Self {
            answer,
            ..Self::next(operation, Fault::Answer)
        }
    }

    /// The same fault at the `nth` call.
    #[must_use]
    pub fn nth(self, nth: u32) -> Self {
        Self { nth, ..self }
    }

    /// The same fault also for every later call of the login that it first applies to.
    #[must_use]
    pub fn sticky(self) -> Self {
        Self {
            sticky: true,
            ..self
        }
    }

    /// The same fault for the calls of one project alone.
    #[must_use]
    pub fn for_client(self, client_id: ClientId) -> Self {
        Self {
            client_id: Some(client_id),
            ..self
        }
    }

    /// Whether a call of `operation` for this project counts.
    fn is_for(&self, operation: BrokerOperation, project: Option<&ClientId>) -> bool {
        self.operation == operation
            && (self.client_id.is_none() || self.client_id.as_ref() == project)
    }
}

/// An armed fault, as the control API lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArmedFault {
    /// The id that [`Faults::arm`] returned.
    pub id: u64,
    /// The name of the operation.
    pub operation: &'static str,
    /// The name of the fault.
    pub fault: &'static str,
    /// The project whose calls alone are counted; null for all.
    pub client_id: Option<ClientId>,
    /// The number of calls before it triggers; null once it has.
    pub passes: Option<u32>,
    /// The login whose calls a sticky fault applies to.
    pub sticks_to: Option<String>,
}

/// The armed faults of one proxy, and the calls that they hold.
#[derive(Debug, Default)]
pub struct Faults {
    armed: Mutex<Armed>,
    held: HeldCalls,
}

#[derive(Debug, Default)]
struct Armed {
    last_id: u64,
    triggers: Vec<Trigger>,
}

#[derive(Debug)]
struct Trigger {
    id: u64,
    injection: FaultInjection,
    state: TriggerState,
}

#[derive(Debug)]
enum TriggerState {
    /// It triggers after this number of further calls.
    Waiting(u32),
    /// It has triggered, and triggers again for this login.
    Sticking(LoginId),
}

impl Faults {
    /// Arms a fault and returns its id.
    pub fn arm(&self, injection: FaultInjection) -> u64 {
        let mut armed = self.lock();
        armed.last_id += 1;
        let id = armed.last_id;
        armed.triggers.push(Trigger {
            id,
            state: TriggerState::Waiting(injection.nth.saturating_sub(1)),
            injection,
        });
        id
    }

    /// Disarms every fault, and lets every held call go.
    pub fn clear(&self) {
        self.lock().triggers.clear();
        self.held.let_all_go();
    }

    /// The calls that are held, oldest first.
    pub fn held(&self) -> Vec<HeldCall> {
        self.held.list()
    }

    /// Lets a held call go; false if none with this id waits.
    pub fn let_go(&self, id: u64) -> bool {
        self.held.let_go(id)
    }

    /// Holds a call until it is let go.
    pub(crate) async fn hold(&self, call: HeldCall) {
        self.held.wait(call).await;
    }

    /// Disarms the fault with this id; false if it is not armed, because it has triggered.
    pub fn disarm(&self, id: u64) -> bool {
        let triggers = &mut self.lock().triggers;
        let before = triggers.len();
        triggers.retain(|trigger| trigger.id != id);
        triggers.len() < before
    }

    /// The faults that may still trigger, oldest first.
    pub fn armed(&self) -> Vec<ArmedFault> {
        self.lock().triggers.iter().map(Trigger::listed).collect()
    }

    /// The fault for this call of `operation`, if one is due. Every fault that waits for
    /// such a call counts it; if two are due, the older one triggers, and the other at the
    /// next call.
    pub(crate) fn trigger(
        &self,
        operation: BrokerOperation,
        owner: &CallOwner,
    ) -> Option<FaultInjection> {
        let CallOwner { login, project } = owner;
        let mut triggered = None;
        self.lock().triggers.retain_mut(|trigger| {
            if !trigger.injection.is_for(operation, project.as_ref()) {
                return true;
            }
            match &mut trigger.state {
                TriggerState::Waiting(passes @ 1..) => {
                    *passes -= 1;
                    true
                }
                _ if triggered.is_some() => true,
                TriggerState::Sticking(own) if Some(&*own) == login.as_ref() => {
                    triggered = Some(trigger.injection.clone());
                    true
                }
                TriggerState::Sticking(_) => true,
                TriggerState::Waiting(_) => {
                    triggered = Some(trigger.injection.clone());
                    trigger.stick_to(login.as_ref())
                }
            }
        });
        triggered
    }

    fn lock(&self) -> MutexGuard<'_, Armed> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Trigger {
    /// Binds a sticky fault to `login`; false if the fault has done its work.
    fn stick_to(&mut self, login: Option<&LoginId>) -> bool {
        match login {
            Some(login) if self.injection.sticky => {
                self.state = TriggerState::Sticking(login.clone());
                true
            }
            _ => false,
        }
    }

    fn listed(&self) -> ArmedFault {
        let (passes, sticks_to) = match &self.state {
            TriggerState::Waiting(passes) => (Some(*passes), None),
            TriggerState::Sticking(login) => (None, Some(login.as_str().to_owned())),
        };
        ArmedFault {
            id: self.id,
            operation: self.injection.operation.name(),
            fault: self.injection.fault.name(),
            client_id: self.injection.client_id.clone(),
            passes,
            sticks_to,
        }
    }
}
