//! The floor: the same steps on maps behind one lock, in memory. It refuses the same
//! requests as a store, with less exact rules.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use broker::model::grant::{NewGrant, Redemption, Token};
use broker::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery, SessionStatus, StillPending,
};
use broker::model::upstream_login::UpstreamLogin;
use broker::model::{LoginId, UnixMs};
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store, StoreError};
use contract::{Digest, Rule};

#[derive(Default)]
pub(crate) struct Map(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    keys: HashMap<Key, Key>,
    logins: HashMap<Key, (LoginSession, Option<LoginOutcome>)>,
    consumed: HashSet<Key>,
    codes: HashMap<Key, Option<NewGrant>>,
    tokens: HashMap<Key, Token>,
}

impl Map {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A digest as a key.
type Key = [u8; 32];

fn key(digest: Digest) -> Key {
    *digest.as_bytes()
}

fn is_pending(session: &LoginSession) -> bool {
    matches!(
        session.status,
        SessionStatus::Unbound | SessionStatus::Bound(_)
    )
}

type Answer<T> = Result<T, StoreError>;

#[async_trait]
impl Store for Map {
    async fn ready(&self) -> Answer<()> {
        Ok(())
    }

    async fn open(&self, new: NewLogin, now: UnixMs) -> Answer<Opened> {
        let mut rows = self.rows();
        let earlier = rows
            .keys
            .get(new.key.as_bytes())
            .and_then(|it| rows.logins.get(it));
        if earlier.is_some_and(|(session, _)| session.ends.is_after(now)) {
            return Ok(Opened::KeyTaken);
        }
        rows.keys.insert(key(new.key), key(new.handle));
        rows.logins.insert(key(new.handle), (new.session, None));
        Ok(Opened::Fresh)
    }

    async fn find(&self, handle: Digest, _: UnixMs) -> Answer<Option<LoginSession>> {
        let rows = self.rows();
        Ok(rows
            .logins
            .get(handle.as_bytes())
            .map(|(session, _)| session.clone()))
    }

    async fn bind_browser(
        &self,
        handle: Digest,
        browser: BrowserBinding,
        now: UnixMs,
    ) -> Answer<Bound> {
        Ok(match self.rows().logins.get_mut(handle.as_bytes()) {
            Some((session, _)) => match session.clone().admit(browser, now) {
                Ok(_) => {
                    session.status = SessionStatus::Bound(browser);
                    Bound::Granted
                }
                Err(_) => Bound::Refused(Some(session.clone())),
            },
            None => Bound::Refused(None),
        })
    }

    async fn consume_upstream_login(&self, upstream_login: &UpstreamLogin) -> Answer<Consumed> {
        Ok(if self.rows().consumed.insert(key(upstream_login.id())) {
            Consumed::Now
        } else {
            Consumed::Before
        })
    }

    async fn complete(
        &self,
        handle: Digest,
        outcome: LoginOutcome,
        now: UnixMs,
    ) -> Answer<Completed> {
        match self.rows().logins.get_mut(handle.as_bytes()) {
            Some((session, slot)) if is_pending(session) && session.ends.is_after(now) => {
                session.status = SessionStatus::Completed;
                *slot = Some(outcome);
                Ok(Completed::Now)
            }
            _ => Ok(Completed::TooLate),
        }
    }

    async fn consume_result(&self, ask: ResultQuery, now: UnixMs) -> Answer<ResultRead> {
        let mut rows = self.rows();
        let handle = rows.keys.get(ask.key.as_bytes()).copied();
        let Some((session, outcome)) = handle.and_then(|it| rows.logins.get_mut(&it)) else {
            return Ok(ResultRead::Refused(Rule::ResultKnown));
        };
        if let Err(rule) = session.explain(&ask, now) {
            return Ok(ResultRead::Refused(rule));
        }
        Ok(match outcome.take() {
            Some(outcome) => {
                session.status = SessionStatus::Consumed;
                ResultRead::Outcome(outcome)
            }
            None => ResultRead::Pending(StillPending),
        })
    }

    async fn issue(&self, grant: NewGrant) -> Answer<()> {
        self.rows().codes.insert(key(grant.code), Some(grant));
        Ok(())
    }

    async fn redeem(&self, ask: Redemption, now: UnixMs) -> Answer<Redeemed> {
        let mut rows = self.rows();
        let fits = |grant: &mut NewGrant| {
            grant.project == ask.project
                && grant.callback == ask.callback
                && grant.challenge == ask.challenge
                && grant.code_ends.is_after(now)
        };
        let code = rows.codes.get_mut(ask.code.as_bytes());
        let Some(grant) = code.and_then(|code| code.take_if(fits)) else {
            return Ok(Redeemed::Refused(Rule::CodeKnown, None));
        };
        let token = Token {
            login: grant.login.clone(),
            project: grant.project,
            profile: Some(grant.profile),
            ends: ask.token_ends,
        };
        rows.tokens.insert(key(ask.token), token);
        Ok(Redeemed::Token(grant.login))
    }

    async fn token(&self, token: Digest, _: UnixMs) -> Answer<Option<Token>> {
        Ok(self.rows().tokens.get(token.as_bytes()).cloned())
    }

    async fn revoke(&self, token: Digest) -> Answer<Option<LoginId>> {
        Ok(self.rows().tokens.get_mut(token.as_bytes()).map(|token| {
            token.profile = None;
            token.login.clone()
        }))
    }

    async fn sweep(&self, _: UnixMs) -> Answer<usize> {
        Ok(0)
    }
}
