//! One document of the provider: kept until it is too old, and fetched by one
//! sign-in at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::Failure;
use crate::clock::Clock;
use crate::model::UnixMs;

/// The time after a failed fetch before the next is tried. Sign-ins that waited
/// for it share its failure, or each would wait out a time limit of its own, one
/// after the other.
const RETRIED_AFTER: Duration = Duration::from_secs(1);

/// The time that a document still serves after its end while no newer one can be had.
const STALE_FOR: Duration = Duration::from_hours(1);

/// The time for which an entry that a newly fetched document does not contain is not
/// looked for again: forged ids must not cause traffic.
const ABSENT_FOR: Duration = Duration::from_secs(60);

/// A document and the right to fetch it. The lock on the document is never held
/// over a call, so that what is kept is served while a fetch is under way.
#[derive(Debug)]
pub(super) struct Shelf<T> {
    kept: Mutex<Kept<T>>,
    /// Held by the one sign-in that fetches.
    fetching: tokio::sync::Mutex<()>,
}

/// The latest document, and what the latest fetches found out.
#[derive(Debug)]
struct Kept<T> {
    /// With the end of its time.
    document: Option<(T, UnixMs)>,
    /// The failure of the latest fetch, if it failed, and the time of the next.
    failed: Option<(Failure, UnixMs)>,
    /// Until when an entry that is not in the document is taken for absent.
    absent_until: Option<UnixMs>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            kept: Mutex::new(Kept {
                document: None,
                failed: None,
                absent_until: None,
            }),
            fetching: tokio::sync::Mutex::default(),
        }
    }
}

impl<T> Shelf<T> {
    /// Returns what `pick` finds in the document. When the document is too old, or
    /// `pick` fails on it, `fetch` brings a newer one first; a fetch of another sign-in
    /// that is under way is waited for and shared, unless the document at hand
    /// still serves.
    ///
    /// # Errors
    ///
    /// The failure of `pick`, when the document was read and the entry is absent;
    /// else the failure of the fetch.
    pub(super) async fn get<R>(
        &self,
        clock: &Clock,
        pick: impl Fn(&T) -> Result<R, Failure>,
        fetch: impl Future<Output = Result<(T, Duration), Failure>>,
    ) -> Result<R, Failure> {
        if let Some(known) = self.kept().known(&pick, clock.now()) {
            return known;
        }
        let turn = self.fetching.try_lock().ok();
        if turn.is_none() {
            let stale = self.kept().stale(&pick, clock.now());
            if let Some(entry) = stale {
                return Ok(entry);
            }
        }
        let _turn = match turn {
            Some(turn) => turn,
            None => self.fetching.lock().await,
        };
        // Another sign-in may have fetched it in the meantime.
        if let Some(known) = self.kept().known(&pick, clock.now()) {
            return known;
        }
        let fetched = fetch.await;
        self.kept().put(fetched, &pick, clock.now())
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Kept<T> {
    /// The answer that needs no fetch at `now`: an entry of a document whose time is not
    /// over, the failure of a fetch that is not to be repeated yet, or the absence of
    /// the entry.
    fn known<R>(
        &self,
        pick: impl Fn(&T) -> Result<R, Failure>,
        now: UnixMs,
    ) -> Option<Result<R, Failure>> {
        let fresh = self.document.as_ref().filter(|(_, end)| end.is_after(now));
        let picked = fresh.map(|(document, _)| pick(document));
        if let Some(Ok(entry)) = picked {
            return Some(Ok(entry));
        }
        if let Some((failure, retried)) = self.failed
            && retried.is_after(now)
        {
            return Some(self.stale(pick, now).ok_or(failure));
        }
        let is_absent = self.absent_until.is_some_and(|end| end.is_after(now));
        picked.filter(|_| is_absent)
    }

    /// An entry of the document even though its time is over, for so long as that
    /// is allowed. A fetch that failed for good speaks against the document, too.
    fn stale<R>(&self, pick: impl Fn(&T) -> Result<R, Failure>, now: UnixMs) -> Option<R> {
        let (document, end) = self.document.as_ref()?;
        let may_serve = self.failed.is_none_or(|(failure, _)| failure.may_pass());
        let is_usable = may_serve && after(*end, STALE_FOR).is_after(now);
        is_usable.then(|| pick(document).ok()).flatten()
    }

    /// Keeps the outcome of a fetch that ended at `now`, and picks from it. Only a
    /// document that was read can say that an entry is absent.
    fn put<R>(
        &mut self,
        fetched: Result<(T, Duration), Failure>,
        pick: impl Fn(&T) -> Result<R, Failure>,
        now: UnixMs,
    ) -> Result<R, Failure> {
        match fetched {
            Ok((document, kept_for)) => {
                let picked = pick(&document);
                if picked.is_err() {
                    self.absent_until = Some(after(now, ABSENT_FOR));
                }
                self.document = Some((document, after(now, kept_for)));
                self.failed = None;
                picked
            }
            Err(failure) => {
                self.failed = Some((failure, after(now, RETRIED_AFTER)));
                self.stale(pick, now).ok_or(failure)
            }
        }
    }
}

fn after(time: UnixMs, by: Duration) -> UnixMs {
    time.plus_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}
