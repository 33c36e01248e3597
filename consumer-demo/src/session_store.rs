//! All sessions: in memory, a bounded number of them, each gone when it expires.
//!
//! In an application of your own this is your framework's session store, or a
//! table: one row per session, a unique column for the digest of its id, one for
//! when it ends. Renewing a session's id is then an `UPDATE` of that column.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};

use crate::session::{CookieValue, Session, ValueDigest};

/// All sessions. Those in which a user has signed in have a capacity of their own:
/// starting a login takes no credentials, so an attacker can start thousands, and
/// must not sign every user out by it.
pub(crate) struct SessionStore {
    capacity: usize,
    table: Mutex<Table>,
}

/// A session's primary key. It never leaves the server, and stays the same when the
/// session's id is renewed, so that a callback of one tab still finds its login after
/// another tab has signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionRef(u64);

/// The session cookie to set.
pub(crate) struct SessionCookie {
    /// The session's id: the cookie's value.
    pub(crate) id: CookieValue,
    /// The end of the session, in Unix milliseconds.
    pub(crate) until_ms: i64,
}

#[derive(Default)]
struct Table {
    rows: HashMap<SessionRef, Row>,
    // Ordered, so that the first is the oldest.
    anonymous: BTreeSet<SessionRef>,
    signed_in: BTreeSet<SessionRef>,
    by_id: HashMap<ValueDigest, SessionRef>,
    // Never set back, not even by `clear`: a reference that a running callback
    // holds must not refer to another browser's session afterwards.
    opened: u64,
}

struct Row {
    id: ValueDigest,
    session: Session,
}

impl SessionStore {
    /// An empty store for at most `capacity` sessions of either kind.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            table: Mutex::default(),
        }
    }

    /// The live session with the id `id`.
    ///
    /// An unknown id belongs to no session: we never open one under an id that a
    /// browser sent, since an attacker may have planted it there.
    pub(crate) fn find(&self, id: &CookieValue, now_ms: i64) -> Option<SessionRef> {
        self.lock().find(id, now_ms)
    }

    /// Reads or changes the session with the id `id` in one step: no sign-in renews the id
    /// in between. Returns `None` when there is none.
    pub(crate) fn find_with<R>(
        &self,
        id: &CookieValue,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<R> {
        let mut table = self.lock();
        let key = table.find(id, now_ms)?;
        table.live(key, now_ms).map(change)
    }

    /// Changes the session with the id `id`, or a new one if there is none. Returns
    /// the cookie that the browser must hold from now on.
    pub(crate) fn find_or_open_with<R>(
        &self,
        id: Option<CookieValue>,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> (R, SessionCookie) {
        let mut table = self.lock();
        let known = id.and_then(|id| Some((table.find(&id, now_ms)?, id)));
        let (key, id) = known.unwrap_or_else(|| {
            table.evict(self.capacity, now_ms, |table| &table.anonymous);
            table.open()
        });
        let session = &mut table.row(key).session;
        let changed = change(session);
        let until_ms = session.until_ms();
        (changed, SessionCookie { id, until_ms })
    }

    /// Reads or changes a session atomically. Returns `None` when it has ended.
    pub(crate) fn with<R>(
        &self,
        key: SessionRef,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<R> {
        self.lock().live(key, now_ms).map(change)
    }

    /// Like [`with`](Self::with), for a change that signs a user in: it renews the
    /// session's id. The old id is dead at once; the rest of the session stays.
    pub(crate) fn sign_in_with<R>(
        &self,
        key: SessionRef,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<(R, SessionCookie)> {
        let mut table = self.lock();
        let session = table.live(key, now_ms)?;
        let changed = change(session);
        let until_ms = session.until_ms();
        if table.anonymous.remove(&key) {
            table.evict(self.capacity, now_ms, |table| &table.signed_in);
            table.signed_in.insert(key);
        }
        let id = table.renew_id(key);
        Some((changed, SessionCookie { id, until_ms }))
    }

    /// Ends a session and returns it.
    pub(crate) fn end(&self, key: SessionRef) -> Option<Session> {
        self.lock().remove(key)
    }

    /// Ends all sessions.
    pub(crate) fn clear(&self) {
        let mut table = self.lock();
        table.rows.clear();
        table.anonymous.clear();
        table.signed_in.clear();
        table.by_id.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing panics while holding it")
    }
}

impl Table {
    fn find(&mut self, id: &CookieValue, now_ms: i64) -> Option<SessionRef> {
        let key = *self.by_id.get(&id.digest())?;
        self.live(key, now_ms).map(|_| key)
    }

    /// A session that has not ended, without what has expired in it.
    fn live(&mut self, key: SessionRef, now_ms: i64) -> Option<&mut Session> {
        let session = &mut self.rows.get_mut(&key)?.session;
        session.expire(now_ms);
        session.is_live(now_ms).then_some(session)
    }

    fn row(&mut self, key: SessionRef) -> &mut Row {
        self.rows.get_mut(&key).expect("it was just looked up")
    }

    fn open(&mut self) -> (SessionRef, CookieValue) {
        let id = CookieValue::random();
        self.opened += 1;
        let key = SessionRef(self.opened);
        let row = Row {
            id: id.digest(),
            session: Session::default(),
        };
        self.by_id.insert(row.id, key);
        self.rows.insert(key, row);
        self.anonymous.insert(key);
        (key, id)
    }

    fn renew_id(&mut self, key: SessionRef) -> CookieValue {
        let id = CookieValue::random();
        let old = std::mem::replace(&mut self.row(key).id, id.digest());
        self.by_id.remove(&old);
        self.by_id.insert(id.digest(), key);
        id
    }

    fn remove(&mut self, key: SessionRef) -> Option<Session> {
        let row = self.rows.remove(&key)?;
        self.anonymous.remove(&key);
        self.signed_in.remove(&key);
        self.by_id.remove(&row.id);
        Some(row.session)
    }

    /// Makes room for one more session of a kind: drops those that have expired, or
    /// else the oldest.
    fn evict(&mut self, capacity: usize, now_ms: i64, kind: fn(&Self) -> &BTreeSet<SessionRef>) {
        if kind(self).len() < capacity {
            return;
        }
        let is_over = |key: &&SessionRef| !self.rows[key].session.is_live(now_ms);
        let expired: Vec<_> = kind(self).iter().filter(is_over).copied().collect();
        for key in expired {
            self.remove(key);
        }
        while kind(self).len() >= capacity {
            let Some(&oldest) = kind(self).first() else {
                return;
            };
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use contract::{Provider, SessionKey, Subject};

    use super::*;
    use crate::random;
    use crate::session::{SignedIn, Via};

    fn ada() -> SignedIn {
        SignedIn {
            subject: Subject::of(Provider::GitHub, "1"),
            via: Via::Clean,
            until_ms: 1_000,
        }
    }

    /// Many times: the moment between finding a session and reading it is short.
    #[test]
    fn the_id_of_before_a_sign_in_never_shows_its_user() {
        for _ in 0..2_000 {
            let store = SessionStore::with_capacity(10);
            let (_, planted) = store.find_or_open_with(None, 0, |session| {
                let key = SessionKey::from_random(&random::bytes());
                let cookie = CookieValue::random().digest();
                session.keep_login(key, Provider::GitHub, cookie, 0)
            });
            let session = store.find(&planted.id, 0).expect("it was just opened");
            let is_shown = |session: &mut Session| session.signed_in().is_some();
            thread::scope(|scope| {
                let attacker = scope.spawn(|| {
                    while let Some(is_shown) = store.find_with(&planted.id, 0, is_shown) {
                        assert!(!is_shown, "the user is shown under the old id");
                    }
                });
                let signed_in = store.sign_in_with(session, 0, |session| session.sign_in(ada()));
                assert!(signed_in.is_some());
                attacker.join().expect("nothing is shown");
            });
        }
    }
}
