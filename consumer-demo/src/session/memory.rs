//! All sessions: in memory, a bounded number of them, each gone when it expires.
//!
//! In an application of your own this is your framework's session store, or a
//! table: one row per session, a unique column for the digest of its id, one for
//! when it ends. Renaming a session is then an `UPDATE` of that column.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};

use super::Session;
use super::cookie_value::{CookieValue, ValueDigest};

/// Which session, under whatever name: a row's primary key. It never leaves the
/// server, and a session keeps it when it is renamed, so that a callback of one
/// tab still finds its login after another tab has signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionRef(u64);

/// A name that a browser should be given, and for how long it is good.
pub(crate) struct Naming {
    /// The name.
    pub(crate) id: CookieValue,
    /// When the session ends, in Unix milliseconds.
    pub(crate) until_ms: i64,
}

/// The memory of all sessions. Those in which a user has signed in have room of their
/// own: starting a login takes no credentials, so anybody can start thousands, and
/// must not sign everybody out by it.
pub(crate) struct Sessions {
    room: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    rows: HashMap<SessionRef, Row>,
    // Ordered, so that the first is the oldest.
    anonymous: BTreeSet<SessionRef>,
    signed_in: BTreeSet<SessionRef>,
    by_id: HashMap<ValueDigest, SessionRef>,
    // Never set back, not even when everything is forgotten: what a callback
    // holds from before must not mean another browser's session afterwards.
    opened: u64,
}

struct Row {
    id: ValueDigest,
    session: Session,
}

impl Sessions {
    /// An empty memory for at most `room` sessions of either kind.
    pub(crate) fn with_room_for(room: usize) -> Self {
        Self {
            room: room.max(1),
            shelf: Mutex::default(),
        }
    }

    /// The live session that is called `id`.
    ///
    /// An unknown name is nobody's: we never open a session under a name that a
    /// browser brought, since somebody else may have planted it there.
    pub(crate) fn find(&self, id: &CookieValue, now_ms: i64) -> Option<SessionRef> {
        self.lock().find(id, now_ms)
    }

    /// Keeps something in the session that is called `id`, or in a new one.
    /// Returns what the browser should call it from now on.
    pub(crate) fn keep<R>(
        &self,
        id: Option<CookieValue>,
        now_ms: i64,
        keep: impl FnOnce(&mut Session) -> R,
    ) -> (R, Naming) {
        let mut shelf = self.lock();
        let known = id.and_then(|id| Some((shelf.find(&id, now_ms)?, id)));
        let (which, id) = known.unwrap_or_else(|| {
            shelf.make_room(self.room, now_ms, |shelf| &shelf.anonymous);
            shelf.open()
        });
        let session = &mut shelf.row(which).session;
        let kept = keep(session);
        let until_ms = session.until_ms;
        (kept, Naming { id, until_ms })
    }

    /// Reads or changes a session, in one go: nobody else sees it meanwhile.
    /// Nothing when it has ended.
    pub(crate) fn with<R>(
        &self,
        which: SessionRef,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<R> {
        self.lock().live(which, now_ms).map(change)
    }

    /// Like [`with`](Self::with), for a change that signs a user in: it gives the
    /// session a new name. The old one is dead at once; whatever else is in the session
    /// stays.
    pub(crate) fn sign_in_with<R>(
        &self,
        which: SessionRef,
        now_ms: i64,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<(R, Naming)> {
        let mut shelf = self.lock();
        let session = shelf.live(which, now_ms)?;
        let answer = change(session);
        let until_ms = session.until_ms;
        if shelf.anonymous.remove(&which) {
            shelf.make_room(self.room, now_ms, |shelf| &shelf.signed_in);
            shelf.signed_in.insert(which);
        }
        let id = shelf.rename(which);
        Some((answer, Naming { id, until_ms }))
    }

    /// Ends a session and returns what was in it.
    pub(crate) fn end(&self, which: SessionRef) -> Option<Session> {
        self.lock().remove(which)
    }

    /// Ends all of them.
    pub(crate) fn clear(&self) {
        let mut shelf = self.lock();
        shelf.rows.clear();
        shelf.anonymous.clear();
        shelf.signed_in.clear();
        shelf.by_id.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().expect("nothing panics while holding it")
    }
}

impl Shelf {
    fn find(&mut self, id: &CookieValue, now_ms: i64) -> Option<SessionRef> {
        let which = *self.by_id.get(&id.digest())?;
        self.live(which, now_ms).map(|_| which)
    }

    /// A session that has not ended, without what has expired in it.
    fn live(&mut self, which: SessionRef, now_ms: i64) -> Option<&mut Session> {
        let session = &mut self.rows.get_mut(&which)?.session;
        session.expire(now_ms);
        session.is_live(now_ms).then_some(session)
    }

    fn row(&mut self, which: SessionRef) -> &mut Row {
        self.rows.get_mut(&which).expect("it was just looked up")
    }

    fn open(&mut self) -> (SessionRef, CookieValue) {
        let id = CookieValue::random();
        self.opened += 1;
        let which = SessionRef(self.opened);
        let row = Row {
            id: id.digest(),
            session: Session::default(),
        };
        self.by_id.insert(row.id, which);
        self.rows.insert(which, row);
        self.anonymous.insert(which);
        (which, id)
    }

    fn rename(&mut self, which: SessionRef) -> CookieValue {
        let id = CookieValue::random();
        let old = std::mem::replace(&mut self.row(which).id, id.digest());
        self.by_id.remove(&old);
        self.by_id.insert(id.digest(), which);
        id
    }

    fn remove(&mut self, which: SessionRef) -> Option<Session> {
        let row = self.rows.remove(&which)?;
        self.anonymous.remove(&which);
        self.signed_in.remove(&which);
        self.by_id.remove(&row.id);
        Some(row.session)
    }

    /// Drops the sessions of a full kind that have expired, or else the oldest.
    fn make_room(&mut self, room: usize, now_ms: i64, kind: fn(&Self) -> &BTreeSet<SessionRef>) {
        if kind(self).len() < room {
            return;
        }
        let is_over = |which: &&SessionRef| !self.rows[which].session.is_live(now_ms);
        let expired: Vec<_> = kind(self).iter().filter(is_over).copied().collect();
        for which in expired {
            self.remove(which);
        }
        while kind(self).len() >= room {
            let Some(&oldest) = kind(self).first() else {
                return;
            };
            self.remove(oldest);
        }
    }
}
