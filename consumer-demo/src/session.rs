//! A browser's session on the server: the signed-in user, and the logins
//! that are under way. Every secret is in here, and none of it in the cookie.
//!
//! It is kept in tables, so that several processes may share it: a load balancer sends the
//! browser that comes back to whichever it likes, and a restart signs no user out.

use contract::{Lifetime, LoginLifetime, Provider, SessionKey, State, Subject, Transaction};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Result, Row, params};
use serde::Deserialize;

use crate::broker::BearerToken;
use crate::cookies::{BrowserLook, CookieValue, ValueDigest};
use crate::database::{json, row, text};

/// The time after which a user is signed out: 8 hours after the sign-in, however
/// active they are. Choose your own by your risk; the broker has no say in it.
pub(crate) type SignedInLifetime = Lifetime<{ 8 * 60 * 60 }>;

/// The logins that one browser may have under way in each flow: four tabs. A fifth
/// evicts the oldest, so that a user who keeps clicking costs no memory.
const MAX_UNDER_WAY: u8 = 4;

/// The time for which a login that was not finished is remembered, so that a user who comes
/// back too late reads what happened: an hour.
const EXPLAINED_MS: i64 = 60 * 60 * 1000;

/// One of the two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Flow {
    /// The flow of `clean.rs`.
    Clean,
    /// The flow of `legacy.rs`.
    Legacy,
}

impl Flow {
    /// The flow's name in element ids and in the log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Flow::Clean => "clean",
            Flow::Legacy => "legacy",
        }
    }

    /// The path that a form posts to, to start a login with `provider`.
    pub(crate) fn start_path(self, provider: Provider) -> String {
        match self {
            Flow::Clean => format!("/login/{provider}"),
            Flow::Legacy => format!("/legacy/login/{provider}"),
        }
    }
}

/// A session's primary key. It never leaves the server, and stays the same when the
/// session's id is renewed, so that a callback of one tab still finds its login after
/// another tab has signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionRef(pub(crate) i64);

/// One browser's session, within a step of the database.
///
/// It ends, and its cookie with it, an hour after the end of the latest login that was
/// started, or 8 hours after the latest sign-in.
#[derive(Clone, Copy)]
pub(crate) struct Session<'s> {
    db: &'s Connection,
    key: SessionRef,
    now_ms: i64,
}

/// A login that was not finished in time. Its key or transaction is of no use any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpiredLogin {
    pub(crate) flow: Flow,
    pub(crate) provider: Provider,
}

/// The user who is signed in.
pub(crate) struct SignedIn {
    /// The key of their account.
    pub(crate) subject: Subject,
    /// The flow by which they signed in.
    pub(crate) via: Via,
    /// The time at which the user is signed out.
    pub(crate) until_ms: i64,
}

/// The flow by which a user signed in, and what it left behind.
#[derive(Clone)]
pub(crate) enum Via {
    /// The clean flow leaves nothing: its result was the profile.
    Clean,
    /// The legacy flow leaves an access token, which sign-out revokes. The
    /// profile was fetched with it right away; it has no other use.
    Legacy(BearerToken),
}

/// The link between a clean login and the browser that started it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginBinding {
    /// The digest of the cookie that the browser received.
    pub(crate) cookie: ValueDigest,
    /// Its look.
    pub(crate) look: BrowserLook,
}

/// The number of a login; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginNumber(i64);

impl LoginNumber {
    /// Greater than every login's number.
    pub(crate) const MAX: LoginNumber = LoginNumber(i64::MAX);
}

/// The slot of one of a session's clean logins. It is part of the cookie's name, so
/// that several tabs have a cookie each, and never more than [`MAX_UNDER_WAY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginSlot(pub(crate) u8);

/// A clean login that a callback has taken out of the session.
pub(crate) struct TakenLogin {
    pub(crate) number: LoginNumber,
    pub(crate) provider: Provider,
    /// The session key, unless another callback holds it.
    pub(crate) key: Option<SessionKey>,
}

/// A legacy login under way.
pub(crate) struct LegacyLogin {
    /// The specification's record: state, verifier, challenge, times.
    pub(crate) transaction: Transaction,
    pub(crate) provider: Provider,
    /// The look of the browser that started the login.
    pub(crate) look: BrowserLook,
}

/// The clean flow's logins.
impl Session<'_> {
    /// Stores a login that the broker has accepted, of the browser of `binding`. Returns
    /// the slot for the cookie's name.
    pub(crate) fn keep_login(
        &self,
        key: &SessionKey,
        provider: Provider,
        binding: LoginBinding,
    ) -> Result<LoginSlot> {
        self.make_room(Flow::Clean)?;
        let slot = self.free_slot()?;
        // The broker knows the login for 600 seconds; so do we.
        let until_ms = self.now_ms + LoginLifetime::MS;
        let (session, provider) = (self.key.0, provider.as_str());
        let (look, cookie) = (binding.look.0, binding.cookie.0);
        self.execute(
            "INSERT INTO logins (session, flow, provider, look, until_ms, slot, cookie)
             VALUES (?1, 'clean', ?2, ?3, ?4, ?5, ?6)",
            params![session, provider, look, until_ms, slot.0, cookie],
        )?;
        self.put_back(LoginNumber(self.db.last_insert_rowid()), key)?;
        self.live_until(until_ms + EXPLAINED_MS)?;
        Ok(slot)
    }

    fn free_slot(&self) -> Result<LoginSlot> {
        let find = "SELECT slot FROM logins WHERE session = ?1 AND flow = 'clean'";
        let mut logins = self.db.prepare(find)?;
        let used = logins.query_map([self.key.0], |login| login.get(0))?;
        let used: Vec<u8> = used.collect::<Result<_>>()?;
        let free = (0..MAX_UNDER_WAY).find(|slot| !used.contains(slot));
        Ok(LoginSlot(free.expect("one was evicted if all were used")))
    }

    // [take]
    /// Takes the newest login before `before` among those that this browser started.
    /// `binding` returns its binding by the cookie that it sent for a slot.
    ///
    /// The session alone is not enough. It is older than the login, so an attacker
    /// may know its id: one who plants a session of their own in the victim's
    /// browser, and then requests this callback in a loop, would read the result
    /// before the victim is back.
    pub(crate) fn take_login(
        &self,
        before: LoginNumber,
        binding: impl Fn(LoginSlot) -> Option<LoginBinding>,
    ) -> Result<Option<TakenLogin>> {
        let mut newest_first = self.db.prepare(
            "SELECT number, provider, look, slot, cookie FROM logins
             WHERE session = ?1 AND flow = 'clean' AND number < ?2 AND ?3 < until_ms
             ORDER BY number DESC",
        )?;
        let mut logins = newest_first.query(params![self.key.0, before.0, self.now_ms])?;
        while let Some(login) = logins.next()? {
            let started_by = LoginBinding {
                cookie: ValueDigest(login.get("cookie")?),
                look: BrowserLook(login.get("look")?),
            };
            if binding(LoginSlot(login.get("slot")?)) == Some(started_by) {
                let number = LoginNumber(login.get("number")?);
                return Ok(Some(TakenLogin {
                    number,
                    provider: text(login, "provider")?,
                    key: self.take_key(number)?,
                }));
            }
        }
        Ok(None)
    }
    // [/]

    /// Takes the key of a login, unless another callback holds it.
    ///
    /// This is what makes 32 simultaneous callbacks read the result once, however many
    /// processes they reach: one statement both finds the key and removes it, so the other
    /// 31 find none. Reading it first and removing it later would let them all through.
    /// (Many frameworks' sessions do just that: they load a copy at the beginning of a
    /// request and save it at its end. Of eight simultaneous callbacks, four to six read a
    /// key that is kept in `express-session`.)
    fn take_key(&self, LoginNumber(login): LoginNumber) -> Result<Option<SessionKey>> {
        let take = "DELETE FROM session_keys WHERE login = ?1 RETURNING session_key";
        row(self.db, take, [login], |key| text(key, "session_key"))
    }

    /// Puts back the key of a login that is still pending: nothing was consumed. It changes
    /// nothing if the login was evicted meanwhile.
    pub(crate) fn put_back(&self, LoginNumber(login): LoginNumber, key: &SessionKey) -> Result<()> {
        let put_back = "INSERT OR REPLACE INTO session_keys
                        SELECT number, ?1 FROM logins WHERE number = ?2";
        self.execute(put_back, params![key.expose(), login])
    }

    /// Forgets a login whose key has had its one use.
    pub(crate) fn forget_login(&self, LoginNumber(login): LoginNumber) -> Result<()> {
        self.execute("DELETE FROM logins WHERE number = ?1", [login])
    }
}

/// The legacy flow's logins.
impl Session<'_> {
    /// Stores a login before the browser leaves for the broker.
    pub(crate) fn keep_transaction(&self, login: &LegacyLogin) -> Result<()> {
        self.make_room(Flow::Legacy)?;
        let until_ms = login.transaction.expires_at * 1000;
        let (session, provider) = (self.key.0, login.provider.as_str());
        let state = *login.transaction.state.digest().as_bytes();
        let record = serde_json::to_string(&login.transaction).expect("texts and numbers are JSON");
        self.execute(
            "INSERT INTO logins (session, flow, provider, look, until_ms, state, record)
             VALUES (?1, 'legacy', ?2, ?3, ?4, ?5, ?6)",
            params![session, provider, login.look.0, until_ms, state, record],
        )?;
        self.live_until(until_ms + EXPLAINED_MS)
    }

    // [take]
    /// Takes out the transaction that `state` belongs to. It is gone afterwards, however the
    /// rest of the callback ends: one statement finds and removes it, as in the clean flow.
    /// One that was started by a browser that looks different stays.
    ///
    /// It is found by the state's digest: the time of a refusal does not reveal how much of
    /// a guess was right.
    pub(crate) fn consume_transaction(
        &self,
        state: &State,
        look: BrowserLook,
    ) -> Result<Option<LegacyLogin>> {
        row(
            self.db,
            "DELETE FROM logins
             WHERE session = ?1 AND state = ?2 AND look = ?3 AND ?4 < until_ms
             RETURNING provider, record",
            params![self.key.0, state.digest().as_bytes(), look.0, self.now_ms],
            |login| {
                Ok(LegacyLogin {
                    transaction: json(login, "record")?,
                    provider: text(login, "provider")?,
                    look,
                })
            },
        )
    }
    // [/]
}

/// The signed-in user.
impl Session<'_> {
    /// Signs a user in under a new `id`, by one statement: at no moment does the old id show
    /// the new user. Returns the user who was signed in before, and the session's end.
    ///
    /// The new user *replaces* the old: signing in twice in one browser never joins two
    /// accounts.
    pub(crate) fn sign_in(
        &self,
        user: &SignedIn,
        id: &CookieValue,
    ) -> Result<(Option<SignedIn>, i64)> {
        self.forget_expired()?;
        let find = "SELECT * FROM sessions WHERE session = ?1 AND ?2 < signed_in_until_ms";
        let replaced = row(self.db, find, [self.key.0, self.now_ms], SignedIn::read)?;
        let (session, id, subject) = (self.key.0, id.digest().0, user.subject.as_str());
        let token = match &user.via {
            Via::Clean => None,
            Via::Legacy(token) => Some(token.expose()),
        };
        let until_ms = self.db.query_row(
            "UPDATE sessions SET id = ?2, subject = ?3, token = ?4, signed_in_until_ms = ?5,
                 until_ms = max(until_ms, ?5)
             WHERE session = ?1 RETURNING until_ms",
            params![session, id, subject, token, user.until_ms],
            |session| session.get(0),
        )?;
        Ok((replaced, until_ms))
    }
}

impl SignedIn {
    /// Reads the user in a row of `sessions`.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            subject: text(row, "subject")?,
            via: match row.get_ref("token")? {
                ValueRef::Null => Via::Clean,
                _ => Via::Legacy(text(row, "token")?),
            },
            until_ms: row.get("signed_in_until_ms")?,
        })
    }
}

/// Ends, which every statement checks against the time of the request.
impl<'s> Session<'s> {
    /// The session of `key`, if it has not ended at `now_ms`.
    pub(crate) fn live(db: &'s Connection, key: SessionRef, now_ms: i64) -> Result<Option<Self>> {
        let find = "SELECT 1 FROM sessions WHERE session = ?1 AND ?2 < until_ms";
        let found = row(db, find, [key.0, now_ms], |_| Ok(()))?;
        Ok(found.map(|()| Self { db, key, now_ms }))
    }

    /// The session with this id, if it has not ended at `now_ms`.
    pub(crate) fn find(db: &'s Connection, id: &CookieValue, now_ms: i64) -> Result<Option<Self>> {
        let find = "SELECT session FROM sessions WHERE id = ?1 AND ?2 < until_ms";
        let parameters = params![id.digest().0, now_ms];
        let key = row(db, find, parameters, |session| {
            session.get(0).map(SessionRef)
        })?;
        Ok(key.map(|key| Self { db, key, now_ms }))
    }

    /// Opens a session with this id. It ends at once, unless a login is kept in it.
    pub(crate) fn open(db: &'s Connection, id: &CookieValue, now_ms: i64) -> Result<Self> {
        let open = "INSERT INTO sessions (id) VALUES (?1)";
        db.execute(open, [id.digest().0])?;
        let key = SessionRef(db.last_insert_rowid());
        Ok(Self { db, key, now_ms })
    }

    pub(crate) fn key(&self) -> SessionRef {
        self.key
    }

    /// The end of the session.
    pub(crate) fn until_ms(&self) -> Result<i64> {
        let find = "SELECT until_ms FROM sessions WHERE session = ?1";
        (self.db).query_row(find, [self.key.0], |session| session.get(0))
    }

    fn live_until(&self, until_ms: i64) -> Result<()> {
        let extend = "UPDATE sessions SET until_ms = max(until_ms, ?2) WHERE session = ?1";
        self.execute(extend, [self.key.0, until_ms])
    }

    /// The latest login that was not finished in time, since the latest start or sign-in.
    pub(crate) fn expired(&self) -> Result<Option<ExpiredLogin>> {
        let find = "SELECT flow, provider FROM logins
                    WHERE session = ?1 AND until_ms <= ?2 AND ?2 < until_ms + ?3
                    ORDER BY until_ms DESC, flow LIMIT 1";
        let parameters = [self.key.0, self.now_ms, EXPLAINED_MS];
        row(self.db, find, parameters, |login| {
            Ok(ExpiredLogin {
                flow: text(login, "flow")?,
                provider: text(login, "provider")?,
            })
        })
    }

    fn forget_expired(&self) -> Result<()> {
        let forget = "DELETE FROM logins WHERE session = ?1 AND until_ms <= ?2";
        self.execute(forget, [self.key.0, self.now_ms])
    }

    /// Makes room for this session among those of its kind: drops those that have expired and,
    /// if that is not enough, those that end next. The index has them in this order, so that no
    /// start looks at the others.
    pub(crate) fn evict_others(&self, is_anonymous: bool, capacity: i64) -> Result<()> {
        self.execute(
            "DELETE FROM sessions
             WHERE (subject IS NULL) = ?1 AND session <> ?2 AND until_ms <= ?3",
            params![is_anonymous, self.key.0, self.now_ms],
        )?;
        self.execute(
            "DELETE FROM sessions WHERE session IN (
                 SELECT session FROM sessions WHERE (subject IS NULL) = ?1 AND session <> ?2
                 ORDER BY until_ms
                 LIMIT (SELECT max(sessions - ?3, 0) FROM counts WHERE anonymous = ?1))",
            params![is_anonymous, self.key.0, capacity],
        )
    }

    /// Makes room for one more login by `flow`: drops those that have expired, and the
    /// oldest if there are as many as may be.
    fn make_room(&self, flow: Flow) -> Result<()> {
        self.forget_expired()?;
        let evict = "DELETE FROM logins WHERE number IN (
                         SELECT number FROM logins WHERE session = ?1 AND flow = ?2
                         ORDER BY number DESC LIMIT -1 OFFSET ?3)";
        let parameters = params![self.key.0, flow.as_str(), MAX_UNDER_WAY - 1];
        self.execute(evict, parameters)
    }

    fn execute(&self, statement: &str, parameters: impl Params) -> Result<()> {
        self.db.execute(statement, parameters).map(drop)
    }
}

/// Unix milliseconds as Unix seconds, in which a Transaction counts.
pub(crate) fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1000)
}
