//! The number of login sessions that each project has under way.
//!
//! A session lives 600 seconds, whatever its outcome, so the live sessions are those that
//! were opened in that time. They are counted in memory: to count rows would block the
//! store's only writer, and for longer the more sessions there are.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::{ClientId, LoginLifetime};

use crate::model::UnixMs;

/// Sessions that are opened within this time share a bucket, until the last of them has
/// ended.
const BUCKET_MS: i64 = 1_000;

/// A quota of live sessions for each project.
#[derive(Debug)]
pub(super) struct SessionQuota {
    max_live: u32,
    projects: Mutex<HashMap<ClientId, Live>>,
}

/// The live sessions of one project: buckets by their end, with a count each.
#[derive(Debug, Default)]
struct Live {
    buckets: VecDeque<(UnixMs, u32)>,
    total: u32,
}

/// A session that was counted: the end of its bucket.
#[derive(Debug)]
pub(crate) struct Counted(UnixMs);

impl SessionQuota {
    pub(super) fn new(max_live: NonZeroU32) -> Self {
        Self {
            max_live: max_live.get(),
            projects: Mutex::default(),
        }
    }

    /// Counts a session that `project` opens at `now`.
    ///
    /// # Errors
    ///
    /// If the quota is used up: the seconds until a bucket has ended.
    pub(super) fn count(&self, project: &ClientId, now: UnixMs) -> Result<Counted, u64> {
        let mut projects = self.projects();
        let live = projects.entry(project.clone()).or_default();
        live.forget_ended(now);
        match live.buckets.front() {
            Some((end, _)) if live.total >= self.max_live => {
                Err(u64::try_from(end.0 - now.0).unwrap_or(0).div_ceil(1_000))
            }
            _ => Ok(live.add(now)),
        }
    }

    /// Takes back a session that was counted and then not opened.
    pub(super) fn uncount(&self, project: &ClientId, counted: Counted) {
        if let Some(live) = self.projects().get_mut(project) {
            live.take_back(counted);
        }
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ClientId, Live>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    fn add(&mut self, now: UnixMs) -> Counted {
        let bucket = now.0.div_euclid(BUCKET_MS).saturating_add(1);
        let end = UnixMs(bucket.saturating_mul(BUCKET_MS)).plus_ms(LoginLifetime::MS);
        match self.buckets.back_mut() {
            Some((last, count)) if *last == end => *count += 1,
            _ => self.buckets.push_back((end, 1)),
        }
        self.total += 1;
        Counted(end)
    }

    fn forget_ended(&mut self, now: UnixMs) {
        while let Some((end, count)) = self.buckets.front().copied()
            && end <= now
        {
            self.buckets.pop_front();
            self.total -= count;
        }
    }

    fn take_back(&mut self, Counted(end): Counted) {
        let mut buckets = self.buckets.iter_mut();
        if let Some((_, count)) = buckets.find(|(it, count)| *it == end && *count > 0) {
            *count -= 1;
            self.total -= 1;
        }
    }
}
