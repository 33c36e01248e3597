//! A browser's session on the server: the signed-in user, and the logins
//! that are under way. Every secret is in here, and none of it in the cookie.

use std::collections::VecDeque;

use contract::{Lifetime, LoginLifetime, Provider, SessionKey, State, Subject, Transaction};

use crate::broker::BearerToken;
use crate::cookies::{BrowserLook, ValueDigest};

/// The time after which a user is signed out: 8 hours after the sign-in, however
/// active they are. Choose your own by your risk; the broker has no say in it.
pub(crate) type SignedInLifetime = Lifetime<{ 8 * 60 * 60 }>;

/// The logins that one browser may have under way in each flow: four tabs. A fifth
/// evicts the oldest, so that a user who keeps clicking costs no memory.
const MAX_UNDER_WAY: usize = 4;

/// The time for which a login that was not finished is remembered, so that a user who comes
/// back too late reads what happened: an hour.
const EXPLAINED_MS: i64 = 60 * 60 * 1000;

/// One of the two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// One browser's session. All times are Unix milliseconds.
#[derive(Default)]
pub(crate) struct Session {
    signed_in: Option<SignedIn>,
    /// Clean logins, oldest first.
    logins: VecDeque<CleanLogin>,
    /// Legacy logins, oldest first.
    transactions: VecDeque<LegacyLogin>,
    /// The latest login that was not finished in time.
    expired: Option<ExpiredLogin>,
    /// The number of clean logins ever started here.
    started: u64,
    /// The end of the session and of its cookie: an hour after the end of the latest login
    /// that was started, or 8 hours after the latest sign-in.
    until_ms: i64,
}

/// A login that was not finished in time. Its key or transaction is gone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpiredLogin {
    pub(crate) flow: Flow,
    pub(crate) provider: Provider,
    /// The end of the login.
    until_ms: i64,
}

/// The user who is signed in.
#[derive(Clone)]
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

/// A clean login under way.
struct CleanLogin {
    number: LoginNumber,
    slot: LoginSlot,
    binding: LoginBinding,
    provider: Provider,
    until_ms: i64,
    key: StoredKey,
}

/// The link between a clean login and the browser that started it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginBinding {
    /// The digest of the cookie that the browser received.
    pub(crate) cookie: ValueDigest,
    /// Its look.
    pub(crate) look: BrowserLook,
}

/// The session key of a clean login, until a callback takes it.
enum StoredKey {
    /// A callback may take it.
    Present(SessionKey),
    /// A callback holds it and is reading the result.
    Taken,
}

/// The number of a clean login within its session; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoginNumber(u64);

impl LoginNumber {
    /// Greater than every login's number.
    pub(crate) const MAX: LoginNumber = LoginNumber(u64::MAX);
}

/// The slot of one of a session's clean logins. It is part of the cookie's name, so
/// that several tabs have a cookie each, and never more than [`MAX_UNDER_WAY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginSlot(pub(crate) usize);

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
impl Session {
    /// Stores a login that the broker has accepted, of the browser of `binding`. Returns
    /// the slot for the cookie's name.
    pub(crate) fn keep_login(
        &mut self,
        key: SessionKey,
        provider: Provider,
        binding: LoginBinding,
        now_ms: i64,
    ) -> LoginSlot {
        evict_oldest(&mut self.logins);
        let slot = self.free_slot();
        self.started += 1;
        // The broker knows the login for 600 seconds; so do we.
        let until_ms = now_ms + LoginLifetime::MS;
        self.logins.push_back(CleanLogin {
            number: LoginNumber(self.started),
            slot,
            binding,
            provider,
            until_ms,
            key: StoredKey::Present(key),
        });
        self.expired = None;
        self.live_until(until_ms + EXPLAINED_MS);
        slot
    }

    fn free_slot(&self) -> LoginSlot {
        let is_free = |slot: &LoginSlot| self.logins.iter().all(|login| login.slot != *slot);
        let mut slots = (0..MAX_UNDER_WAY).map(LoginSlot);
        slots
            .find(is_free)
            .expect("one was evicted if all were used")
    }

    // [take]
    /// Takes the newest login before `before` among those that this browser started.
    /// `binding` returns its binding by the cookie that it sent for a slot.
    ///
    /// The session alone is not enough. It is older than the login, so an attacker
    /// may know its id: one who plants a session of their own in the victim's
    /// browser, and then requests this callback in a loop, would read the result
    /// before the victim is back.
    ///
    /// This is what makes 32 simultaneous callbacks read the result once: the key
    /// moves out under the session's lock, and the other 31 find it gone. Checking
    /// first and removing later would let them all through. (Many frameworks' sessions
    /// do just that: they load a copy at the beginning of a request and save it at its
    /// end. Of eight simultaneous callbacks, four to six read a key that is kept in
    /// `express-session`. Keep it in a table, and take it by one `DELETE … RETURNING`.)
    pub(crate) fn take_login(
        &mut self,
        before: LoginNumber,
        binding: impl Fn(LoginSlot) -> Option<LoginBinding>,
    ) -> Option<TakenLogin> {
        let login = self.logins.iter_mut().rev().find(|login| {
            login.number < before && binding(login.slot).is_some_and(|it| it == login.binding)
        })?;
        Some(TakenLogin {
            number: login.number,
            provider: login.provider,
            key: match std::mem::replace(&mut login.key, StoredKey::Taken) {
                StoredKey::Present(key) => Some(key),
                StoredKey::Taken => None,
            },
        })
    }
    // [/]

    /// Puts back the key of a login that is still pending: nothing was consumed.
    pub(crate) fn put_back(&mut self, number: LoginNumber, key: SessionKey) {
        if let Some(login) = self.logins.iter_mut().find(|login| login.number == number) {
            login.key = StoredKey::Present(key);
        }
    }

    /// Forgets a login whose key has had its one use.
    pub(crate) fn forget_login(&mut self, number: LoginNumber) {
        self.logins.retain(|login| login.number != number);
    }
}

/// The legacy flow's logins.
impl Session {
    /// Stores a login before the browser leaves for the broker.
    pub(crate) fn keep_transaction(&mut self, login: LegacyLogin) {
        evict_oldest(&mut self.transactions);
        let until_ms = login.transaction.expires_at * 1000;
        self.transactions.push_back(login);
        self.expired = None;
        self.live_until(until_ms + EXPLAINED_MS);
    }

    // [take]
    /// Takes out the transaction that `state` belongs to. It is gone afterwards,
    /// however the rest of the callback ends. One that was started by a browser that
    /// looks different stays.
    pub(crate) fn consume_transaction(
        &mut self,
        state: &State,
        look: BrowserLook,
    ) -> Option<LegacyLogin> {
        let mut started_here = self.transactions.iter();
        let position = started_here.position(|login| {
            // `matches` compares in constant time: the time of a refusal must not
            // reveal how much of a guess was right.
            login.transaction.state.matches(state) && login.look == look
        })?;
        self.transactions.remove(position)
    }
    // [/]
}

/// The signed-in user.
impl Session {
    /// Signs a user in, and returns the one who was signed in before. The new user
    /// *replaces* the old: signing in twice in one browser never joins two accounts.
    pub(crate) fn sign_in(&mut self, user: SignedIn) -> Option<SignedIn> {
        self.expired = None;
        self.live_until(user.until_ms);
        self.signed_in.replace(user)
    }

    /// The user who is signed in.
    pub(crate) fn signed_in(&self) -> Option<&SignedIn> {
        self.signed_in.as_ref()
    }
}

/// Expiry. The store calls these on every access, so that its callers need not.
impl Session {
    /// The end of the session.
    pub(crate) fn until_ms(&self) -> i64 {
        self.until_ms
    }

    /// Whether the session has not ended at `now_ms`.
    pub(crate) fn is_live(&self, now_ms: i64) -> bool {
        now_ms < self.until_ms
    }

    fn live_until(&mut self, until_ms: i64) {
        self.until_ms = self.until_ms.max(until_ms);
    }

    /// The latest login that was not finished in time, since the latest start or sign-in.
    pub(crate) fn expired(&self) -> Option<ExpiredLogin> {
        self.expired
    }

    /// Forgets what has expired at `now_ms`.
    pub(crate) fn expire(&mut self, now_ms: i64) {
        let expired = self.under_way().filter(|login| login.until_ms <= now_ms);
        self.expired = expired.max_by_key(|login| login.until_ms).or(self.expired);
        self.expired
            .take_if(|login| login.until_ms + EXPLAINED_MS <= now_ms);
        self.logins.retain(|login| now_ms < login.until_ms);
        self.transactions
            .retain(|login| login.transaction.is_live(seconds(now_ms)));
        self.signed_in.take_if(|user| user.until_ms <= now_ms);
    }

    /// The logins of both flows, each with its end.
    fn under_way(&self) -> impl Iterator<Item = ExpiredLogin> {
        let clean = self.logins.iter().map(|login| ExpiredLogin {
            flow: Flow::Clean,
            provider: login.provider,
            until_ms: login.until_ms,
        });
        let legacy = self.transactions.iter().map(|login| ExpiredLogin {
            flow: Flow::Legacy,
            provider: login.provider,
            until_ms: login.transaction.expires_at * 1000,
        });
        clean.chain(legacy)
    }
}

/// Unix milliseconds as Unix seconds, in which a Transaction counts.
pub(crate) fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1000)
}

fn evict_oldest<T>(under_way: &mut VecDeque<T>) {
    while under_way.len() >= MAX_UNDER_WAY {
        under_way.pop_front();
    }
}
