//! All sessions: a bounded number of them, each gone when it expires.
//!
//! In an application of your own this is a table like ours, in the database that all of its
//! processes share. (A framework's session store will do if it changes one value at a time:
//! most load a whole session at the beginning of a request and write it at its end, and a
//! request that ends later brings back what another has taken out.)

use std::sync::Arc;

use rusqlite::{Result, params};

use crate::cookies::CookieValue;
use crate::database::{Database, row};
use crate::session::{Session, SessionRef, SignedIn};

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
    database: Arc<Database>,
    capacity: i64,
}

/// The session cookie to set.
pub(crate) struct SessionCookie {
    /// The session's id: the cookie's value.
    pub(crate) id: CookieValue,
    /// The end of the session, in Unix milliseconds.
    pub(crate) until_ms: i64,
}

impl SessionStore {
    /// The sessions in `database`, at most `capacity` of either kind.
    pub(crate) fn new(database: Arc<Database>, capacity: usize) -> Self {
        let capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
        Self { database, capacity }
    }

    /// The live session with the id `id`.
    ///
    /// An unknown id belongs to no session: we never open one under an id that a
    /// browser sent, since an attacker may have planted it there.
    pub(crate) fn find(&self, id: &CookieValue, now_ms: i64) -> Option<SessionRef> {
        self.database.run(|db| {
            let found = Session::find(db, id, now_ms)?;
            Ok(found.map(|session| session.key()))
        })
    }

    /// The user who is signed in under the id `id`.
    ///
    /// One statement finds the session and reads its user. Between two, a sign-in could renew
    /// the id, and the page would show its user to an attacker who planted the old one.
    pub(crate) fn signed_in(&self, id: &CookieValue, now_ms: i64) -> Option<SignedIn> {
        let find = "SELECT * FROM sessions WHERE id = ?1 AND ?2 < signed_in_until_ms";
        let parameters = params![id.digest().0, now_ms];
        (self.database).run(|db| row(db, find, parameters, SignedIn::read))
    }

    // [renew_session]
    /// Changes the session with the id `id`, or a new one if there is none. Returns
    /// the cookie that the browser must hold from now on.
    pub(crate) fn find_or_open_with<R>(
        &self,
        id: Option<CookieValue>,
        now_ms: i64,
        change: impl FnOnce(Session<'_>) -> Result<R>,
    ) -> (R, SessionCookie) {
        self.database.step(|db| {
            let find = |id| Session::find(db, &id, now_ms).map(|found| (found, id));
            let (session, id) = match id.map(find).transpose()? {
                Some((Some(session), id)) => (session, id),
                _ => {
                    let id = CookieValue::random();
                    let session = Session::open(db, &id, now_ms)?;
                    session.evict_others(true, self.capacity)?;
                    (session, id)
                }
            };
            let changed = change(session)?;
            let until_ms = session.until_ms()?;
            Ok((changed, SessionCookie { id, until_ms }))
        })
    }
    // [/]

    /// Reads or changes a session in one step. Returns `None` when it has ended.
    pub(crate) fn with<R>(
        &self,
        key: SessionRef,
        now_ms: i64,
        change: impl FnOnce(Session<'_>) -> Result<R>,
    ) -> Option<R> {
        self.database.step(|db| {
            let session = Session::live(db, key, now_ms)?;
            session.map(change).transpose()
        })
    }

    // [renew_session]
    /// Signs a user in, and returns the one who was signed in before: `None` when the session
    /// has ended. It renews the session's id. The old id is dead at once, in every process;
    /// the rest of the session stays.
    pub(crate) fn sign_in(
        &self,
        key: SessionRef,
        now_ms: i64,
        user: &SignedIn,
    ) -> Option<(Option<SignedIn>, SessionCookie)> {
        self.database.step(|db| {
            let Some(session) = Session::live(db, key, now_ms)? else {
                return Ok(None);
            };
            let id = CookieValue::random();
            let (replaced, until_ms) = session.sign_in(user, &id)?;
            session.evict_others(false, self.capacity)?;
            Ok(Some((replaced, SessionCookie { id, until_ms })))
        })
    }
    // [/]

    /// Ends the session with the id `id`, and returns the user who was signed in. One
    /// statement: whichever process it reaches, none knows the session afterwards.
    pub(crate) fn end(&self, id: &CookieValue, now_ms: i64) -> Option<SignedIn> {
        let end = "DELETE FROM sessions WHERE id = ?1 RETURNING *";
        let ended = self.database.run(|db| {
            row(db, end, [id.digest().0], |session| {
                let until_ms: i64 = session.get("signed_in_until_ms")?;
                (now_ms < until_ms)
                    .then(|| SignedIn::read(session))
                    .transpose()
            })
        });
        ended.flatten()
    }

    /// Ends all sessions.
    pub(crate) fn clear(&self) {
        self.database
            .run(|db| db.execute("DELETE FROM sessions", []));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use contract::{Provider, SessionKey, Subject};
    use rocket::http::HeaderMap;
    use rusqlite::Connection;

    use super::*;
    use crate::cookies::BrowserLook;
    use crate::random;
    use crate::session::{LoginBinding, Via};

    /// The sessions of two processes that share a file.
    fn shared() -> (tempfile::TempDir, [SessionStore; 2]) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sessions.sqlite");
        let stores = [(); 2].map(|()| {
            let database = Database::open(Some(&file)).expect("a database");
            SessionStore::new(Arc::new(database), 10)
        });
        (folder, stores)
    }

    fn ada() -> SignedIn {
        SignedIn {
            subject: Subject::of(Provider::GitHub, "1"),
            via: Via::Clean,
            until_ms: 1_000,
        }
    }

    fn start(store: &SessionStore, now_ms: i64) -> SessionCookie {
        let key = SessionKey::from_random(&random::bytes());
        let binding = LoginBinding {
            cookie: CookieValue::random().digest(),
            look: BrowserLook::of(&HeaderMap::new()),
        };
        let keep = |session: Session<'_>| session.keep_login(&key, Provider::GitHub, binding);
        store.find_or_open_with(None, now_ms, keep).1
    }

    #[test]
    fn a_session_that_is_over_is_forgotten_with_its_logins_when_the_next_one_starts() {
        let (_folder, [store, _]) = shared();
        let first = start(&store, 0);
        start(&store, first.until_ms);
        let count = "SELECT count(*) FROM sessions LEFT JOIN session_keys";
        let read = |db: &Connection| db.query_row(count, [], |row| row.get::<_, i64>(0));
        assert_eq!(store.database.run(read), 1, "one, with one key");
    }

    /// Many times: the moment between finding a session and reading it is short.
    #[test]
    fn the_id_of_before_a_sign_in_never_shows_its_user() {
        let (_folder, [here, there]) = shared();
        for _ in 0..500 {
            let planted = start(&here, 0);
            let session = here.find(&planted.id, 0).expect("it was just opened");
            thread::scope(|scope| {
                let attacker = scope.spawn(|| {
                    while there.find(&planted.id, 0).is_some() {
                        let shown = there.signed_in(&planted.id, 0);
                        assert!(shown.is_none(), "the user is shown under the old id");
                    }
                });
                assert!(here.sign_in(session, 0, &ada()).is_some());
                attacker.join().expect("nothing is shown");
            });
        }
    }
}
