//! A cached document of the provider, fetched by one sign-in at a time.

use std::time::Duration;

use contract::Digest;
use parking_lot::Mutex;

use super::failure::Failure;
use crate::clock::Clock;
use crate::model::UnixMs;

/// The time between a failed fetch and the next. Sign-ins that waited for the fetch
/// share its failure, or each would wait for a time limit of its own, one after the
/// other.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The time for which an expired document still serves while no newer one can be
/// fetched.
const STALE_FOR: Duration = Duration::from_hours(1);

/// The time for which an entry that is absent from a new document is not looked for
/// again.
const ABSENT_FOR: Duration = Duration::from_secs(60);

/// The maximum number of entries that are looked for in vain within [`ABSENT_FOR`]. A
/// new entry must not be held up by an absent one, and forged ids must not cause more
/// traffic than this.
const MAX_SEARCHES: usize = 30;

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
    /// The number of fetches that failed.
    failures: u64,
    /// The entries that were looked for in vain.
    searches: Vec<Search>,
}

/// An entry for which a fetch was made in vain.
#[derive(Debug)]
struct Search {
    /// The digest of its id, which may be long.
    id: Digest,
    failure: Failure,
    /// The time of the next fetch for it.
    next: UnixMs,
    /// The time until which it counts.
    end: UnixMs,
}

impl<T> Default for CachedDocument<T> {
    fn default() -> Self {
        Self {
            cache: Mutex::new(Cache {
                document: None,
                failed: None,
                failures: 0,
                searches: Vec::new(),
            }),
            fetching: tokio::sync::Mutex::default(),
        }
    }
}

impl<T> CachedDocument<T> {
    /// Returns the entry `id`, which `pick` finds in the document. When the document has
    /// expired, or `pick` fails on it, `fetch` replaces it first. If another sign-in is
    /// fetching already, this one waits and shares the result, unless the cached
    /// document still serves.
    ///
    /// # Errors
    ///
    /// The failure of `pick`, when a document was read for this entry and lacks it;
    /// [`Failure::TooManySearches`], when none may be read for it now; otherwise the
    /// failure of the fetch.
    pub(super) async fn get<R>(
        &self,
        clock: &Clock,
        id: &str,
        pick: impl Fn(&T) -> Result<R, Failure>,
        fetch: impl Future<Output = Result<(T, Duration), Failure>>,
    ) -> Result<R, Failure> {
        let id = Digest::of(id.as_bytes());
        let failures = self.cache.lock().failures;
        if let Some(known) = self.cache.lock().known(id, &pick, clock.now()) {
            return known;
        }
        let lock = self.fetching.try_lock().ok();
        if lock.is_none() {
            let stale = self.cache.lock().stale(&pick, clock.now());
            if let Some(entry) = stale {
                return Ok(entry);
            }
        }
        let _lock = match lock {
            Some(lock) => lock,
            None => self.fetching.lock().await,
        };
        // Another sign-in may have fetched it in the meantime, or failed to.
        let shared = {
            let mut cache = self.cache.lock();
            let known = cache.known(id, &pick, clock.now());
            known.or_else(|| cache.failed_since(failures).map(Err))
        };
        if let Some(shared) = shared {
            return shared;
        }
        let fetched = fetch.await;
        self.cache.lock().put(fetched, id, &pick, clock.now())
    }
}

impl<T> Cache<T> {
    /// The result that needs no fetch at `now`: an entry of a fresh document, the
    /// failure of a fetch that may not be repeated yet, or the absence of the entry.
    fn known<R>(
        &mut self,
        id: Digest,
        pick: impl Fn(&T) -> Result<R, Failure>,
        now: UnixMs,
    ) -> Option<Result<R, Failure>> {
        let fresh = self.document.as_ref().filter(|(_, end)| end.is_after(now));
        match fresh.map(|(document, _)| pick(document)) {
            Some(Ok(entry)) => Some(Ok(entry)),
            Some(Err(_)) => self.searched(id, now).map(Err),
            None => {
                let (failure, _) = self.failed.filter(|(_, next)| next.is_after(now))?;
                Some(self.stale(pick, now).ok_or(failure))
            }
        }
    }

    /// The result for an entry that a fresh document lacks; `None` if a fetch may look for
    /// it now.
    fn searched(&mut self, id: Digest, now: UnixMs) -> Option<Failure> {
        self.searches.retain(|search| search.end.is_after(now));
        match self.searches.iter().find(|search| search.id == id) {
            Some(search) => search.next.is_after(now).then_some(search.failure),
            None if self.searches.len() < MAX_SEARCHES => None,
            None => Some(Failure::TooManySearches),
        }
    }

    /// The failure of the latest fetch, if more than this number have failed.
    fn failed_since(&self, failures: u64) -> Option<Failure> {
        let (failure, _) = self.failed.filter(|_| self.failures > failures)?;
        Some(failure)
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
        id: Digest,
        pick: impl Fn(&T) -> Result<R, Failure>,
        now: UnixMs,
    ) -> Result<R, Failure> {
        let (picked, wait) = match fetched {
            Ok((document, lifetime)) => {
                let picked = pick(&document);
                self.document = Some((document, after(now, lifetime)));
                self.failed = None;
                (picked, ABSENT_FOR)
            }
            Err(failure) => {
                self.failed = Some((failure, after(now, RETRY_AFTER)));
                self.failures += 1;
                (self.stale(pick, now).ok_or(failure), RETRY_AFTER)
            }
        };
        self.searches
            .retain(|search| search.id != id && search.end.is_after(now));
        if let Err(failure) = picked {
            self.searches.push(Search {
                id,
                failure,
                next: after(now, wait),
                end: after(now, ABSENT_FOR),
            });
        }
        picked
    }
}

fn after(time: UnixMs, by: Duration) -> UnixMs {
    time.plus_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One after the other, they would each wait for a time limit.
    #[tokio::test]
    async fn who_waited_for_a_fetch_that_failed_shares_its_failure() {
        let document = CachedDocument::<()>::default();
        let clock = Clock::system();
        let absent = |_: &()| Err::<(), _>(Failure::IdTokenUnknownKey);
        let read = async { Ok(((), Duration::from_secs(60))) };
        let known = document.get(&clock, "one", absent, read).await;
        assert_eq!(known, Err(Failure::IdTokenUnknownKey));
        let failed = async {
            tokio::task::yield_now().await;
            Err(Failure::Timeout)
        };
        let unneeded = async { panic!("it waited for another fetch") };
        let results = tokio::join!(
            document.get(&clock, "two", absent, failed),
            document.get(&clock, "three", absent, unneeded),
        );
        assert_eq!(results, (Err(Failure::Timeout), Err(Failure::Timeout)));
    }
}
