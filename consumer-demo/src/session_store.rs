//! All sessions: in memory, a bounded number of them, each gone when it expires.
//!
//! In an application of your own this is your framework's session store, or a
//! table: one row per session, a unique column for the digest of its id, one for
//! when it ends. Renewing a session's id is then an `UPDATE` of that column.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};

use crate::cookies::{CookieValue, ValueDigest};
use crate::session::Session;

/// All sessions. Those in which a user has signed in have a capacity of their own:
/// starting a login takes no credentials, so an attacker can start thousands, and
/// must not sign every user out by it.
///
/// Ten thousand starts, a matter of seconds, still end every login that is under way.
/// No capacity prevents that: limit the rate of starts by the client's address, in the
/// proxy that ends TLS. (Only there: to a server behind it, all clients have the
/// proxy's address. And a login under way cannot move into the browser instead, not even
/// encrypted: a copy of a cookie cannot be taken once.)
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
    anonymous: ByEnd,
    signed_in: ByEnd,
    by_id: HashMap<ValueDigest, SessionRef>,
    // Never set back, not even by `clear`: a reference that a running callback
    // holds must not refer to another browser's session afterwards.
    opened: u64,
}

/// The sessions of one kind, each with its end, ordered: what is over, or makes room, is
/// the first, and a start looks at no other.
type ByEnd = BTreeSet<(i64, SessionRef)>;

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
        Some(table.change(key, change).0)
    }

    // [renew_session]
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
            table.make_room(self.capacity, now_ms, |table| &table.anonymous);
            table.open()
        });
        let (changed, until_ms) = table.change(key, change);
        (changed, SessionCookie { id, until_ms })
    }
    // [/]

    /// Reads or changes a session atomically. Returns `None` when it has ended.
    pub(crate) fn with<R>(
        &self,
        key: SessionRef,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<R> {
        let mut table = self.lock();
        table.live(key, now_ms)?;
        Some(table.change(key, change).0)
    }

    // [renew_session]
    /// Like [`with`](Self::with), for a change that signs a user in: it renews the
    /// session's id. The old id is dead at once; the rest of the session stays.
    pub(crate) fn sign_in_with<R>(
        &self,
        key: SessionRef,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<(R, SessionCookie)> {
        let mut table = self.lock();
        table.live(key, now_ms)?;
        let (changed, until_ms) = table.change(key, change);
        if table.anonymous.remove(&(until_ms, key)) {
            table.make_room(self.capacity, now_ms, |table| &table.signed_in);
            table.signed_in.insert((until_ms, key));
        }
        let id = table.renew_id(key);
        Some((changed, SessionCookie { id, until_ms }))
    }
    // [/]

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

    /// Changes a session, and returns its end.
    fn change<R>(&mut self, key: SessionRef, change: impl FnOnce(&mut Session) -> R) -> (R, i64) {
        let session = &mut self.row(key).session;
        let before_ms = session.until_ms();
        let changed = change(session);
        let until_ms = session.until_ms();
        for kind in [&mut self.anonymous, &mut self.signed_in] {
            if kind.remove(&(before_ms, key)) {
                kind.insert((until_ms, key));
            }
        }
        (changed, until_ms)
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
        self.anonymous.insert((row.session.until_ms(), key));
        self.rows.insert(key, row);
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
        let place = (row.session.until_ms(), key);
        self.anonymous.remove(&place);
        self.signed_in.remove(&place);
        self.by_id.remove(&row.id);
        Some(row.session)
    }

    /// Makes room for one more session of a kind: drops those that have expired and, if
    /// that is not enough, the one that ends next.
    fn make_room(&mut self, capacity: usize, now_ms: i64, kind: fn(&Self) -> &ByEnd) {
        while let Some(&(until_ms, first)) = kind(self).first()
            && (until_ms <= now_ms || kind(self).len() >= capacity)
        {
            self.remove(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use contract::{Provider, SessionKey, Subject};
    use rocket::http::HeaderMap;

    use super::*;
    use crate::cookies::BrowserLook;
    use crate::random;
    use crate::session::{LoginBinding, SignedIn, Via};

    fn ada() -> SignedIn {
        SignedIn {
            subject: Subject::of(Provider::GitHub, "1"),
            via: Via::Clean,
            until_ms: 1_000,
        }
    }

    #[test]
    fn a_session_that_is_over_is_forgotten_when_the_next_one_starts() {
        let store = SessionStore::with_capacity(10);
        for now_ms in [0, 1_000] {
            store.find_or_open_with(None, now_ms, |session| session.sign_in(ada()));
        }
        assert_eq!(store.lock().rows.len(), 1);
    }

    /// Many times: the moment between finding a session and reading it is short.
    #[test]
    fn the_id_of_before_a_sign_in_never_shows_its_user() {
        for _ in 0..2_000 {
            let store = SessionStore::with_capacity(10);
            let (_, planted) = store.find_or_open_with(None, 0, |session| {
                let key = SessionKey::from_random(&random::bytes());
                let binding = LoginBinding {
                    cookie: CookieValue::random().digest(),
                    look: BrowserLook::of(&HeaderMap::new()),
                };
                session.keep_login(key, Provider::GitHub, binding, 0)
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
