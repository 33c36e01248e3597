//! How many login sessions each project has under way.
//!
//! A session lives as long as every other, whatever becomes of it, so those alive
//! are those begun lately: that is counted here, and the store is never asked. To
//! count its rows would hold up its one writer the longer, the worse the flood.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::{ClientId, LoginLifetime};

use crate::model::UnixMs;

/// Sessions that begin within this time are counted together, until the last of
/// them has ended.
const TOGETHER_MS: i64 = 1_000;

/// Counts the sessions of every project.
#[derive(Debug)]
pub(super) struct Sessions {
    most: u32,
    begun: Mutex<HashMap<ClientId, Begun>>,
}

/// What one project began lately: when each lot has ended, and how many it is.
#[derive(Debug, Default)]
struct Begun {
    lots: VecDeque<(UnixMs, u32)>,
    total: u32,
}

impl Sessions {
    pub(super) fn at_most(most: NonZeroU32) -> Self {
        Self {
            most: most.get(),
            begun: Mutex::default(),
        }
    }

    /// Counts a session that `project` begins at `now`. Returns what
    /// [`uncount`](Self::uncount) asks for.
    ///
    /// # Errors
    ///
    /// When it is one too many: in how many seconds there is room.
    pub(super) fn count(&self, project: &ClientId, now: UnixMs) -> Result<UnixMs, u64> {
        let mut all = self.all();
        let begun = all.entry(project.clone()).or_default();
        begun.forget(now);
        match begun.lots.front() {
            Some((ended, _)) if begun.total >= self.most => {
                Err(u64::try_from(ended.0 - now.0).unwrap_or(0).div_ceil(1_000))
            }
            _ => Ok(begun.add(now)),
        }
    }

    /// Takes back a session that was counted and did not begin.
    pub(super) fn uncount(&self, project: &ClientId, ended: UnixMs) {
        if let Some(begun) = self.all().get_mut(project) {
            begun.take_back(ended);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ClientId, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    fn add(&mut self, now: UnixMs) -> UnixMs {
        let together = now.0.div_euclid(TOGETHER_MS).saturating_add(1);
        let ended = UnixMs(together.saturating_mul(TOGETHER_MS)).plus_ms(LoginLifetime::MS);
        match self.lots.back_mut() {
            Some((last, count)) if *last == ended => *count += 1,
            _ => self.lots.push_back((ended, 1)),
        }
        self.total += 1;
        ended
    }

    fn forget(&mut self, now: UnixMs) {
        while let Some((ended, count)) = self.lots.front().copied()
            && ended <= now
        {
            self.lots.pop_front();
            self.total -= count;
        }
    }

    fn take_back(&mut self, ended: UnixMs) {
        let mut lots = self.lots.iter_mut();
        if let Some((_, count)) = lots.find(|(it, count)| *it == ended && *count > 0) {
            *count -= 1;
            self.total -= 1;
        }
    }
}
