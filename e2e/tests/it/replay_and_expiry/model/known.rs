//! What may be known of a history so far, what may happen next, and when what
//! ends. What comes of a step is the parent's business.

use std::collections::BTreeMap;

use super::script::{Ending, Failure, Moment, Project, Provider, Step, Visitor, Wrong};

// SPEC, Limits.
const LOGIN_LIVES_MS: i64 = 600_000;
const TOKEN_LIVES_MS: i64 = 900_000;
// The spec does not say; the kit chose.
const LOGIN_IS_KNOWN_MS: i64 = 1_200_000;
const CODE_LIVES_MS: i64 = 60_000;
/// Of both flows' upstream logins: a clean one ends with its login.
pub(super) const UPSTREAM_LOGIN_COUNTS_MS: i64 = 600_000;
// Google's own documentation; GitHub's code outlives every upstream login.
const GOOGLES_CODE_LIVES_MS: i64 = 60_000;

/// Further upstream logins would push a browser's oldest one out of its cookies.
const MOST_UPSTREAM_LOGINS: u8 = 8;

/// Everything that may be known of a history so far. Times are in milliseconds
/// since its beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub(super) now_ms: i64,
    pub(super) logins: BTreeMap<u8, Login>,
    pub(super) upstream_logins: BTreeMap<u8, UpstreamLogin>,
    /// How often a provider was asked to exchange its code.
    pub(super) exchanges: usize,
}

/// A login of the clean flow.
#[derive(Debug, Clone)]
pub(super) struct Login {
    /// The first login that was started with the same key.
    pub(super) key: u8,
    pub(super) project: Project,
    pub(super) provider: Provider,
    pub(super) opened_ms: i64,
    pub(super) claimed_by: Option<Visitor>,
    pub(super) progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Pending,
    Settled(Outcome),
    Consumed,
}

/// How a login ended: with the person of an upstream login, or with none.
pub(super) type Outcome = Result<u8, Failure>;

/// One visitor's way to a provider and back, in either flow.
#[derive(Debug, Clone)]
pub(super) struct UpstreamLogin {
    pub(super) visitor: Visitor,
    pub(super) provider: Provider,
    pub(super) ends_ms: i64,
    pub(super) purpose: Purpose,
    pub(super) answer: Option<ProvidersAnswer>,
    pub(super) is_spent: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Purpose {
    Clean {
        login: u8,
    },
    Legacy {
        project: Project,
        code: Option<Code>,
    },
}

/// What the provider gave the visitor to bring home.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProvidersAnswer {
    pub(super) ending: Ending,
    pub(super) given_ms: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) issued_ms: i64,
    pub(super) token: Option<Token>,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) issued_ms: i64,
    pub(super) is_ended: bool,
}

impl World {
    /// Whether `step` makes sense now, whatever comes of it.
    pub(super) fn allows(&self, step: Step) -> bool {
        match step {
            Step::Start {
                login, key, wrong, ..
            } => {
                let is_new = self.logins.keys().all(|earlier| *earlier < login);
                let has_key = key == login || self.logins.get(&key).is_some_and(|it| it.key == key);
                is_new && has_key && wrong != Some(Wrong::Verifier)
            }
            Step::Visit {
                login,
                upstream_login,
                ..
            } => self.logins.contains_key(&login) && self.is_new_upstream_login(upstream_login),
            Step::Authorize { upstream_login, .. } => self.is_new_upstream_login(upstream_login),
            Step::SignIn { upstream_login, .. } => self
                .upstream_logins
                .get(&upstream_login)
                .is_some_and(|upstream_login| upstream_login.answer.is_none()),
            Step::Deliver { upstream_login, .. } => self
                .upstream_logins
                .get(&upstream_login)
                .is_some_and(|upstream_login| upstream_login.answer.is_some()),
            Step::Read { login, wrong, .. } => {
                self.logins.contains_key(&login) && wrong != Some(Wrong::Verifier)
            }
            Step::Redeem { upstream_login, .. } => self.code(upstream_login).is_some(),
            Step::Profile { upstream_login } | Step::Revoke { upstream_login } => {
                self.token(upstream_login).is_some()
            }
            Step::Clock { to, off_ms } => self
                .when(to)
                .is_some_and(|at_ms| at_ms + off_ms > self.now_ms),
            Step::Wait { ms } => ms > 0,
            Step::Restart => true,
        }
    }

    /// When something ends; nothing, while it has not begun.
    pub(super) fn when(&self, moment: Moment) -> Option<i64> {
        match moment {
            Moment::LoginEnds(login) => self.logins.get(&login).map(Login::ends_ms),
            Moment::LoginForgotten(login) => self.logins.get(&login).map(Login::known_until_ms),
            Moment::UpstreamLoginEnds(upstream_login) => self
                .upstream_logins
                .get(&upstream_login)
                .map(|upstream_login| upstream_login.ends_ms),
            Moment::AnswerStale(upstream_login) => self
                .upstream_logins
                .get(&upstream_login)
                .and_then(UpstreamLogin::stale_ms),
            Moment::CodeEnds(upstream_login) => self.code(upstream_login).map(Code::ends_ms),
            Moment::TokenEnds(upstream_login) => self.token(upstream_login).map(Token::ends_ms),
        }
    }

    fn is_new_upstream_login(&self, upstream_login: u8) -> bool {
        upstream_login <= MOST_UPSTREAM_LOGINS
            && self
                .upstream_logins
                .keys()
                .all(|earlier| *earlier < upstream_login)
    }

    pub(super) fn is_alive(&self, login: &Login) -> bool {
        self.now_ms < login.ends_ms()
    }

    /// A login is known for 1200 s, unless its key is used again.
    pub(super) fn is_known(&self, login: u8) -> bool {
        let found = &self.logins[&login];
        let is_latest = self.under_key(found.key).is_some_and(|(id, _)| id == login);
        is_latest && self.now_ms < found.known_until_ms()
    }

    /// The latest login that was started with a key.
    pub(super) fn under_key(&self, key: u8) -> Option<(u8, &Login)> {
        let mut latest_first = self.logins.iter().rev();
        latest_first
            .find(|(_, login)| login.key == key)
            .map(|(id, login)| (*id, login))
    }

    pub(super) fn code(&self, upstream_login: u8) -> Option<&Code> {
        match &self.upstream_logins.get(&upstream_login)?.purpose {
            Purpose::Legacy { code, .. } => code.as_ref(),
            Purpose::Clean { .. } => None,
        }
    }

    pub(super) fn token(&self, upstream_login: u8) -> Option<&Token> {
        self.code(upstream_login)?.token.as_ref()
    }

    pub(super) fn login_mut(&mut self, login: u8) -> &mut Login {
        self.logins.get_mut(&login).expect("it was started")
    }

    pub(super) fn upstream_login_mut(&mut self, upstream_login: u8) -> &mut UpstreamLogin {
        self.upstream_logins
            .get_mut(&upstream_login)
            .expect("it has begun")
    }

    pub(super) fn code_mut(&mut self, upstream_login: u8) -> (Project, &mut Code) {
        match &mut self.upstream_login_mut(upstream_login).purpose {
            Purpose::Legacy {
                project,
                code: Some(code),
            } => (*project, code),
            _ => panic!("it brought no code"),
        }
    }

    pub(super) fn token_mut(&mut self, upstream_login: u8) -> &mut Token {
        let (_, code) = self.code_mut(upstream_login);
        code.token.as_mut().expect("it was redeemed")
    }
}

impl Login {
    pub(super) fn new(key: u8, project: Project, provider: Provider, opened_ms: i64) -> Self {
        Self {
            key,
            project,
            provider,
            opened_ms,
            claimed_by: None,
            progress: Progress::Pending,
        }
    }

    pub(super) fn ends_ms(&self) -> i64 {
        self.opened_ms + LOGIN_LIVES_MS
    }

    pub(super) fn known_until_ms(&self) -> i64 {
        self.opened_ms + LOGIN_IS_KNOWN_MS
    }
}

impl UpstreamLogin {
    pub(super) fn new(
        visitor: Visitor,
        provider: Provider,
        ends_ms: i64,
        purpose: Purpose,
    ) -> Self {
        Self {
            visitor,
            provider,
            ends_ms,
            purpose,
            answer: None,
            is_spent: false,
        }
    }

    /// When the provider itself stops taking its code back, if that may come first.
    pub(super) fn stale_ms(&self) -> Option<i64> {
        match (self.provider, self.answer) {
            (Provider::Google, Some(answer)) => Some(answer.given_ms + GOOGLES_CODE_LIVES_MS),
            _ => None,
        }
    }

    pub(super) fn outcome(&self, own: u8, now_ms: i64) -> Outcome {
        let is_stale = self.stale_ms().is_some_and(|stale_ms| stale_ms <= now_ms);
        match self.answer.expect("it was given").ending {
            Err(Failure::Denied) => Err(Failure::Denied),
            _ if is_stale => Err(Failure::Invalid),
            Err(failure) => Err(failure),
            Ok(()) => Ok(own),
        }
    }
}

impl Code {
    pub(super) fn ends_ms(&self) -> i64 {
        self.issued_ms + CODE_LIVES_MS
    }
}

impl Token {
    pub(super) fn ends_ms(&self) -> i64 {
        self.issued_ms + TOKEN_LIVES_MS
    }
}
