//! What the server remembers of one browser: who is signed in, and which logins
//! are under way. Everything secret is in here, and nothing of it in the cookie.

mod cookie_value;
mod memory;

use std::collections::VecDeque;

use contract::{Lifetime, LoginLifetime, Provider, SessionKey, State, Subject, Transaction};

use crate::broker::BearerToken;

pub(crate) use cookie_value::{CookieValue, ValueDigest};
pub(crate) use memory::{Naming, SessionRef, Sessions};

/// How long one stays signed in: 8 hours, however busy. An application of your
/// own chooses by its risk; the broker has no say in it.
pub(crate) type SignedInLifetime = Lifetime<{ 8 * 60 * 60 }>;

/// Logins that one browser may have under way in each flow: four tabs. A fifth
/// pushes out the oldest, so that clicking for ever costs us nothing.
const MAX_UNDER_WAY: usize = 4;

/// One browser's session. All times are Unix milliseconds.
#[derive(Default)]
pub(crate) struct Session {
    who: Who,
    /// Clean logins, oldest first.
    logins: VecDeque<CleanLogin>,
    /// Legacy logins, oldest first.
    transactions: VecDeque<LegacyLogin>,
    /// How many clean logins were ever started here.
    started: u64,
    /// When the session ends, and its cookie with it: 600 seconds after the
    /// latest start of a login, or 8 hours after the latest sign-in.
    until_ms: i64,
}

/// Who sits at the browser.
#[derive(Default)]
enum Who {
    #[default]
    Anonymous,
    SignedIn(SignedIn),
}

/// Someone signed in.
#[derive(Clone)]
pub(crate) struct SignedIn {
    /// The key of their account.
    pub(crate) subject: Subject,
    /// How they did it.
    pub(crate) via: Via,
    /// When this ends by itself.
    pub(crate) until_ms: i64,
}

/// The flow by which someone signed in, and what it left behind.
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
    /// Of the cookie that the browser got at this very start.
    cookie: ValueDigest,
    provider: Provider,
    until_ms: i64,
    key: Key,
}

/// Where a session key is.
enum Key {
    /// Here; a callback may take it.
    Here(SessionKey),
    /// In the hands of the one callback that is asking for its result.
    Taken,
}

/// Tells the clean logins of one session apart; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoginNumber(u64);

impl LoginNumber {
    /// After every login there is.
    pub(crate) const NEWEST: LoginNumber = LoginNumber(u64::MAX);
}

/// The slot of one of a session's clean logins. It is part of the
/// cookie's name, so that several tabs keep several, and never more than
/// [`MAX_UNDER_WAY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoginSlot(pub(crate) usize);

/// What a callback gets when it reaches for a login.
pub(crate) struct Claim {
    /// Which login.
    pub(crate) number: LoginNumber,
    /// Where the person signs in.
    pub(crate) provider: Provider,
    /// The key, unless another callback has it.
    pub(crate) key: Option<SessionKey>,
}

/// A legacy login under way.
pub(crate) struct LegacyLogin {
    /// The specification's record: state, verifier, challenge, times.
    pub(crate) transaction: Transaction,
    /// Where the person signs in.
    pub(crate) provider: Provider,
}

/// The clean flow's part.
impl Session {
    /// Remembers a login that the broker has accepted, and whose browser gets
    /// `cookie`. Returns the slot that the cookie is named for.
    pub(crate) fn keep_login(
        &mut self,
        key: SessionKey,
        provider: Provider,
        cookie: ValueDigest,
        now_ms: i64,
    ) -> LoginSlot {
        make_room(&mut self.logins);
        let slot = self.free_slot();
        self.started += 1;
        // The broker knows the login for 600 seconds; so do we.
        let until_ms = now_ms + LoginLifetime::MS;
        self.logins.push_back(CleanLogin {
            number: LoginNumber(self.started),
            slot,
            cookie,
            provider,
            until_ms,
            key: Key::Here(key),
        });
        self.live_until(until_ms);
        slot
    }

    fn free_slot(&self) -> LoginSlot {
        let is_free = |slot: &LoginSlot| self.logins.iter().all(|login| login.slot != *slot);
        let mut slots = (0..MAX_UNDER_WAY).map(LoginSlot);
        slots.find(is_free).expect("there is room for one more")
    }

    /// Takes the key of the newest login before `before` among those whose cookie
    /// the browser brought. `cookie` is what it brought for a slot.
    ///
    /// The session alone is not enough. It is older than the login, so an attacker
    /// may know its name: one who plants a session of their own in
    /// the victim's browser, and then asks this callback in a loop, would read the
    /// result before the victim is back.
    ///
    /// This is what makes 32 callbacks at once ask one question: the key moves
    /// out under the session's lock, and the other 31 find it gone. Checking
    /// first and removing later would let them all through. (Many frameworks' sessions
    /// do just that: they load a copy at the beginning of a request and save it at its
    /// end. Of eight callbacks at once, four to six read a key that is kept in
    /// `express-session`. Keep it in a table, and take it by one `DELETE … RETURNING`.)
    pub(crate) fn claim_login(
        &mut self,
        before: LoginNumber,
        cookie: impl Fn(LoginSlot) -> Option<ValueDigest>,
    ) -> Option<Claim> {
        let login = self.logins.iter_mut().rev().find(|login| {
            login.number < before && cookie(login.slot).is_some_and(|it| it == login.cookie)
        })?;
        Some(Claim {
            number: login.number,
            provider: login.provider,
            key: match std::mem::replace(&mut login.key, Key::Taken) {
                Key::Here(key) => Some(key),
                Key::Taken => None,
            },
        })
    }

    /// Puts back the key of a login that is still pending: nothing was consumed.
    pub(crate) fn put_back(&mut self, number: LoginNumber, key: SessionKey) {
        if let Some(login) = self.logins.iter_mut().find(|login| login.number == number) {
            login.key = Key::Here(key);
        }
    }

    /// Forgets a login: it ended, or nobody can say any more how it stands.
    pub(crate) fn forget_login(&mut self, number: LoginNumber) {
        self.logins.retain(|login| login.number != number);
    }
}

/// The legacy flow's part.
impl Session {
    /// Remembers a login that the browser is about to be sent on.
    pub(crate) fn keep_transaction(&mut self, login: LegacyLogin) {
        make_room(&mut self.transactions);
        let until_ms = login.transaction.expires_at * 1000;
        self.transactions.push_back(login);
        self.live_until(until_ms);
    }

    /// Takes out the transaction that `state` belongs to. It is gone afterwards,
    /// whatever becomes of the rest of the callback.
    pub(crate) fn consume_transaction(&mut self, state: &State) -> Option<LegacyLogin> {
        let position = self
            .transactions
            .iter()
            // `matches` compares in constant time: how long a refusal takes
            // must not tell how much of a guess was right.
            .position(|login| login.transaction.state.matches(state))?;
        self.transactions.remove(position)
    }
}

/// Who is signed in.
impl Session {
    /// Signs someone in, and returns who was signed in before. The one *replaces*
    /// the other: two identities are never joined because they met in a browser.
    pub(crate) fn sign_in(&mut self, person: SignedIn) -> Option<SignedIn> {
        self.live_until(person.until_ms);
        match std::mem::replace(&mut self.who, Who::SignedIn(person)) {
            Who::SignedIn(replaced) => Some(replaced),
            Who::Anonymous => None,
        }
    }

    /// Who is signed in, if anybody is.
    pub(crate) fn signed_in(&self) -> Option<&SignedIn> {
        match &self.who {
            Who::SignedIn(person) => Some(person),
            Who::Anonymous => None,
        }
    }
}

/// How it ends. The memory of all sessions calls these on every access, so that
/// nothing above need look at a clock.
impl Session {
    fn is_live(&self, now_ms: i64) -> bool {
        now_ms < self.until_ms
    }

    fn live_until(&mut self, until_ms: i64) {
        self.until_ms = self.until_ms.max(until_ms);
    }

    /// Forgets what has expired at `now_ms`.
    fn expire(&mut self, now_ms: i64) {
        self.logins.retain(|login| now_ms < login.until_ms);
        self.transactions
            .retain(|login| login.transaction.is_live(seconds(now_ms)));
        match &self.who {
            Who::SignedIn(person) if person.until_ms <= now_ms => self.who = Who::Anonymous,
            Who::SignedIn(_) | Who::Anonymous => {}
        }
    }
}

/// A Transaction counts in Unix seconds, everything else here in milliseconds.
pub(crate) fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1000)
}

fn make_room<T>(under_way: &mut VecDeque<T>) {
    while under_way.len() >= MAX_UNDER_WAY {
        under_way.pop_front();
    }
}
