//! A cached document of the provider, fetched by one sign-in at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::model::UnixMs;
use crate::upstream::failure::Failure;

/// The time between a failed fetch and the next. Sign-ins that waited for the fetch
/// share its failure, or each would wait for a time limit of its own, one after the
/// other.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The time for which an expired document still serves while no newer one can be
/// fetched.
const STALE_FOR: Duration = Duration::from_hours(1);

/// The time for which an entry that is absent from a new document causes no further
/// fetch: forged ids must not cause traffic.
const ABSENT_FOR: Duration = Duration::from_secs(60);

/// A document and the lock on fetching it. The cache itself is never locked during a
/// call, so that it serves while a fetch is under way.
#[derive(Debug)]
pub(super) struct CachedDocument<T> {
    cache: Mutex<Cache<T>>,
    /// Held by the one sign-in that fetches.
    fetching: tokio::sync::Mutex<()>,
}

/// The latest document, and the result of the latest fetch.
#[derive(Debug)]
struct Cache<T> {
    /// The document and its expiry.
    document: Option<(T, UnixMs)>,
    /// The failure of the latest fetch, if it failed, and the time of the next.
    failed: Option<(Failure, UnixMs)>,
    /// The time until which an entry that is not in the document counts as absent.
    absent_until: Option<UnixMs>,
}

impl<T> Default for CachedDocument<T> {
    fn default() -> Self {
        Self {
            cache: Mutex::new(Cache {
                document: None,
                failed: None,
                absent_until: None,
            }),
            fetching: tokio::sync::Mutex::default(),
        }
    }
}

impl<T> CachedDocument<T> {
    /// Returns the entry that `pick` finds in the document. When the document has
    /// expired, or `pick` fails on it, `fetch` replaces it first. If another sign-in is
    /// fetching already, this one waits and shares the result, unless the cached
    /// document still serves.
    ///
    /// # Errors
    ///
    /// The failure of `pick`, when the document was read and the entry is absent;
    /// otherwise the failure of the fetch.
    pub(super) async fn get<R>(
        &self,
        clock: &Clock,
        pick: impl Fn(&T) -> Result<R, Failure>,
        fetch: impl Future<Output = Result<(T, Duration), Failure>>,
    ) -> Result<R, Failure> {
        if let Some(known) = self.cache().known(&pick, clock.now()) {
            return known;
        }
        let lock = self.fetching.try_lock().ok();
        if lock.is_none() {
            let stale = self.cache().stale(&pick, clock.now());
            if let Some(entry) = stale {
                return Ok(entry);
            }
        }
        let _lock = match lock {
            Some(lock) => lock,
            None => self.fetching.lock().await,
        };
        // Another sign-in may have fetched it in the meantime.
        if let Some(known) = self.cache().known(&pick, clock.now()) {
            return known;
        }
        let fetched = fetch.await;
        self.cache().put(fetched, &pick, clock.now())
    }

    fn cache(&self) -> MutexGuard<'_, Cache<T>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Cache<T> {
    /// The result that needs no fetch at `now`: an entry of a fresh document, the
    /// failure of a fetch that may not be repeated yet, or the absence of the entry.
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
        if let Some((failure, next_fetch)) = self.failed
            && next_fetch.is_after(now)
        {
            return Some(self.stale(pick, now).ok_or(failure));
        }
        let is_absent = self.absent_until.is_some_and(|end| end.is_after(now));
        picked.filter(|_| is_absent)
    }

    /// An entry of a document that has expired, but not long ago. A fetch with a
    /// permanent failure invalidates the document, too.
    fn stale<R>(&self, pick: impl Fn(&T) -> Result<R, Failure>, now: UnixMs) -> Option<R> {
        let (document, end) = self.document.as_ref()?;
        let may_serve = self
            .failed
            .is_none_or(|(failure, _)| failure.is_transient());
        let is_usable = may_serve && after(*end, STALE_FOR).is_after(now);
        is_usable.then(|| pick(document).ok()).flatten()
    }

    /// Stores the result of a fetch that ended at `now`, and picks from it. Only a
    /// document that was read shows that an entry is absent.
    fn put<R>(
        &mut self,
        fetched: Result<(T, Duration), Failure>,
        pick: impl Fn(&T) -> Result<R, Failure>,
        now: UnixMs,
    ) -> Result<R, Failure> {
        match fetched {
            Ok((document, lifetime)) => {
                let picked = pick(&document);
                if picked.is_err() {
                    self.absent_until = Some(after(now, ABSENT_FOR));
                }
                self.document = Some((document, after(now, lifetime)));
                self.failed = None;
                picked
            }
            Err(failure) => {
                self.failed = Some((failure, after(now, RETRY_AFTER)));
                self.stale(pick, now).ok_or(failure)
            }
        }
    }
}

fn after(time: UnixMs, by: Duration) -> UnixMs {
    time.plus_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}
