//! The logins that the attacker of the relay lesson has started at the demo.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::facts::LoginFlow;

/// The number of attacks that are kept.
const MAX_ATTACKS: usize = 20;

/// The attacks, oldest first.
#[derive(Default)]
pub(crate) struct Attacks(Mutex<VecDeque<Attack>>);

/// A login that the attacker has started.
#[derive(Clone)]
pub(crate) struct Attack {
    pub(crate) login: String,
    pub(crate) flow: LoginFlow,
    /// The address that is sent to the victim.
    pub(crate) link: String,
    /// The sequence number of the last event before it.
    pub(crate) after: u64,
    /// The time of the start, in Unix milliseconds.
    pub(crate) at: i64,
    /// Whether the demo has signed the attacker in who came back for the result; `None` before
    /// that.
    pub(crate) is_in: Option<bool>,
    /// The cookies that the attacker's browser has of the demo: names with their values.
    pub(crate) cookies: Vec<(String, String)>,
}

impl Attacks {
    pub(crate) fn list(&self) -> Vec<Attack> {
        self.lock().iter().cloned().collect()
    }

    pub(crate) fn find(&self, login: &str) -> Option<Attack> {
        self.lock().iter().find(|it| it.login == login).cloned()
    }

    pub(crate) fn add(&self, attack: Attack) {
        let mut attacks = self.lock();
        if attacks.len() == MAX_ATTACKS {
            attacks.pop_front();
        }
        attacks.push_back(attack);
    }

    /// Replaces the attack of the same login; false if there is none any more.
    pub(crate) fn replace(&self, attack: Attack) -> bool {
        let mut attacks = self.lock();
        let known = attacks.iter_mut().find(|it| it.login == attack.login);
        known.map(|known| *known = attack).is_some()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Attack>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
