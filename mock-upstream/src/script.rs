//! Who signs in next, and what goes wrong then.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};

use crate::{Misbehaviour, Person};

/// How a sign-in is answered when the queue is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A page asks who signs in. A queued entry is still used first, without
    /// the page, so that a stack made for people can be scripted too.
    Interactive,
    /// The default person signs in, and no page is shown.
    Automatic,
}

/// When the callback carries `iss` (RFC 9207), which both providers rolled out
/// and back in 2026. Metadata announces it with [`Iss::Errors`] alone: only then does
/// every answer carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iss {
    /// With a success.
    On,
    /// Never.
    Off,
    /// With a success and with an error.
    Errors,
}

/// What the next sign-in does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This person signs in.
    Person(Person),
    /// The default person signs in, and this goes wrong.
    Misbehave(Misbehaviour),
}

/// A word that is not one of those a switch knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("valid: {0}")]
pub struct UnknownSetting(&'static str);

impl FromStr for Mode {
    type Err = UnknownSetting;

    fn from_str(word: &str) -> Result<Self, UnknownSetting> {
        match word {
            "interactive" => Ok(Self::Interactive),
            "automatic" => Ok(Self::Automatic),
            _ => Err(UnknownSetting("`interactive`, `automatic`")),
        }
    }
}

impl FromStr for Iss {
    type Err = UnknownSetting;

    fn from_str(word: &str) -> Result<Self, UnknownSetting> {
        match word {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "errors" => Ok(Self::Errors),
            _ => Err(UnknownSetting("`on`, `off`, `errors`")),
        }
    }
}

/// One provider's switches and queue.
pub(crate) struct Script {
    start: Switches,
    lines: Mutex<Lines>,
}

#[derive(Clone, Copy)]
pub(crate) struct Switches {
    pub(crate) mode: Mode,
    pub(crate) iss: Iss,
}

struct Lines {
    switches: Switches,
    queue: VecDeque<Next>,
}

impl Script {
    pub(crate) fn new(start: Switches) -> Self {
        let lines = Lines {
            switches: start,
            queue: VecDeque::new(),
        };
        Self {
            start,
            lines: Mutex::new(lines),
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

    /// Adds an entry for a sign-in to come.
    pub(crate) fn queue(&self, next: Next) {
        self.lock().queue.push_back(next);
    }

    pub(crate) fn queued(&self) -> Vec<Next> {
        self.lock().queue.iter().cloned().collect()
    }

    /// Takes the entry for the sign-in that begins now.
    pub(crate) fn take_next(&self) -> Option<Next> {
        self.lock().queue.pop_front()
    }

    /// Back to the start: the first switches, an empty queue.
    pub(crate) fn reset(&self) {
        let mut lines = self.lock();
        lines.switches = self.start;
        lines.queue.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines
            .lock()
            .expect("nothing panics while it holds the script")
    }
}
