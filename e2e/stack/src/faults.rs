//! What the wire does wrong when it is told to: which fault, at which call, once
//! or for one login.

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::model::LoginId;
use serde::Serialize;

use crate::operation::{Operation, list};

/// Declares the faults, each with its name and what happens, once.
macro_rules! faults {
    ($($fault:ident = $name:literal, $says:literal;)+) => {
        /// What happens to a call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Fault {
            $(#[doc = $says] $fault,)+
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$fault),+];

            /// Its name, as the control address knows it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$fault => $name,)+ }
            }

            /// What happens, in a sentence.
            pub fn says(self) -> &'static str {
                match self { $(Self::$fault => $says,)+ }
            }
        }
    };
}

faults! {
    Refuse = "refuse",
        "The connection closes before the broker has seen the call.";
    LoseResponse = "lose_response",
        "The broker answers and what it committed stands, but the connection closes without a byte.";
    Truncate = "truncate",
        "The broker answers and what it committed stands, but the connection closes after half the body.";
    Html502 = "html_502",
        "The broker answers and what it committed stands, but a proxy's page with status 502 arrives instead.";
    Html200 = "html_200",
        "The broker answers and what it committed stands, but somebody's page with status 200 arrives instead.";
    Delay = "delay",
        "The broker answers and what it committed stands, but the answer arrives late.";
}

/// There is no such fault; the message lists those that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the faults are {}", list(Fault::ALL.iter().map(|fault| fault.name())))]
pub struct UnknownFault;

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let named = |fault: &&Fault| fault.name() == name;
        Fault::ALL.iter().find(named).copied().ok_or(UnknownFault)
    }
}

/// A fault that is to strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Which operation.
    pub operation: Operation,
    /// What happens to it.
    pub fault: Fault,
    /// At which of its calls from now on: 1 is the next.
    pub nth: u32,
    /// Whether every later call of it for the same login is struck as well.
    pub sticky: bool,
    /// How late a delayed answer is.
    pub delay: Duration,
}

impl Order {
    /// `fault` at the next call of `operation`, once. A delay is of one second.
    pub fn next(operation: Operation, fault: Fault) -> Self {
        Self {
            operation,
            fault,
            nth: 1,
            sticky: false,
            delay: Duration::from_secs(1),
        }
    }

    /// The same at the `nth` call.
    #[must_use]
    pub fn nth(self, nth: u32) -> Self {
        Self { nth, ..self }
    }

    /// The same for every later call for the login that it strikes first.
    #[must_use]
    pub fn sticky(self) -> Self {
        Self {
            sticky: true,
            ..self
        }
    }
}

/// An order and what has become of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// What it was given when it was armed.
    pub id: u64,
    /// Which operation.
    pub operation: &'static str,
    /// Which fault.
    pub fault: &'static str,
    /// How many calls will pass before it strikes; null once it has.
    pub passes: Option<u32>,
    /// The login that it sticks to.
    pub sticks_to: Option<String>,
}

/// The faults of one wire.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Armed>);

#[derive(Debug, Default)]
struct Armed {
    last_id: u64,
    orders: Vec<Standby>,
}

#[derive(Debug)]
struct Standby {
    id: u64,
    order: Order,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// It strikes after so many more calls.
    Waiting(u32),
    /// It has struck, and strikes this login again.
    Stuck(LoginId),
}

impl Faults {
    /// Lets `order` strike when its time comes; an id for it.
    pub fn arm(&self, order: Order) -> u64 {
        let mut armed = self.lock();
        armed.last_id += 1;
        let id = armed.last_id;
        armed.orders.push(Standby {
            id,
            order,
            phase: Phase::Waiting(order.nth.saturating_sub(1)),
        });
        id
    }

    /// Takes back every order.
    pub fn clear(&self) {
        self.lock().orders.clear();
    }

    /// The orders that may still strike, oldest first.
    pub fn standing(&self) -> Vec<Standing> {
        self.lock().orders.iter().map(Standby::standing).collect()
    }

    /// The order that strikes this call of `operation`, if one does. Every order
    /// that waits for such a call counts it; of two that are due the older strikes.
    pub(crate) fn strike(&self, operation: Operation, login: Option<&LoginId>) -> Option<Order> {
        let mut armed = self.lock();
        let mut struck = None;
        armed.orders.retain_mut(|standby| {
            if standby.order.operation != operation || struck.is_some() {
                return true;
            }
            match &mut standby.phase {
                Phase::Stuck(own) if Some(&*own) == login => {
                    struck = Some(standby.order);
                    true
                }
                Phase::Stuck(_) => true,
                Phase::Waiting(0) => {
                    struck = Some(standby.order);
                    standby.sticks(login)
                }
                Phase::Waiting(passes) => {
                    *passes -= 1;
                    true
                }
            }
        });
        struck
    }

    fn lock(&self) -> MutexGuard<'_, Armed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standby {
    /// Whether it goes on after it has struck `login`.
    fn sticks(&mut self, login: Option<&LoginId>) -> bool {
        match login {
            Some(login) if self.order.sticky => {
                self.phase = Phase::Stuck(login.clone());
                true
            }
            _ => false,
        }
    }

    fn standing(&self) -> Standing {
        let (passes, sticks_to) = match &self.phase {
            Phase::Waiting(passes) => (Some(*passes), None),
            Phase::Stuck(login) => (None, Some(login.as_str().to_owned())),
        };
        Standing {
            id: self.id,
            operation: self.order.operation.name(),
            fault: self.order.fault.name(),
            passes,
            sticks_to,
        }
    }
}
