//! Where a document that was fetched lies until it is too old.

use std::time::Duration;

use super::super::Failure;
use crate::flows::UnixMs;

/// How long a failed fetch stands for those who waited for it: without this each
/// of them would wait out a time limit of their own, one after the other.
const FAILED_FOR: Duration = Duration::from_secs(2);

/// How long a document still serves after its time while no newer one can be had.
const STALE_FOR: Duration = Duration::from_hours(1);

/// One document: the latest, how long it counts, and what went wrong lately.
#[derive(Debug)]
pub(super) struct Shelf<T> {
    kept: Option<(T, UnixMs)>,
    failed: Option<(Failure, UnixMs)>,
    /// Until when nobody looks for what is not in it.
    searched: Option<UnixMs>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            kept: None,
            failed: None,
            searched: None,
        }
    }
}

impl<T> Shelf<T> {
    /// The document, if it still counts.
    pub(super) fn fresh(&self, now: UnixMs) -> Option<&T> {
        let (document, until) = self.kept.as_ref()?;
        until.is_after(now).then_some(document)
    }

    /// A failure that still stands.
    pub(super) fn failure(&self, now: UnixMs) -> Option<Failure> {
        let (failure, until) = self.failed?;
        until.is_after(now).then_some(failure)
    }

    /// The document in spite of `failure`, if that may pass and the document is
    /// not too old.
    pub(super) fn stale(&self, failure: Failure, now: UnixMs) -> Result<&T, Failure> {
        match &self.kept {
            Some((document, until))
                if failure.may_pass() && after(*until, STALE_FOR).is_after(now) =>
            {
                Ok(document)
            }
            _ => Err(failure),
        }
    }

    /// Puts down what came of a fetch that ended at `now`.
    pub(super) fn put(
        &mut self,
        fetched: Result<(T, Duration), Failure>,
        now: UnixMs,
    ) -> Result<&T, Failure> {
        match fetched {
            Ok((document, kept_for)) => {
                self.failed = None;
                Ok(&self.kept.insert((document, after(now, kept_for))).0)
            }
            Err(failure) => {
                self.failed = Some((failure, after(now, FAILED_FOR)));
                self.stale(failure, now)
            }
        }
    }

    /// Whether to look for what is not in it: once in each `window`.
    pub(super) fn may_search(&mut self, now: UnixMs, window: Duration) -> bool {
        if self.searched.is_some_and(|until| until.is_after(now)) {
            return false;
        }
        self.searched = Some(after(now, window));
        true
    }
}

fn after(time: UnixMs, by: Duration) -> UnixMs {
    time.plus_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}
