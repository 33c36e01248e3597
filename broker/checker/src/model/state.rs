//! The state of the logins: what is known of each, and when it ends.

use std::array;
use std::collections::BTreeMap;

use strum::{IntoStaticStr, VariantArray};

use super::step::{Ending, Failure, Project, Provider, Step, Visitor, Wrong};
use super::time::{Interval, Now};

// SPEC, Limits.
pub(super) const LOGIN_LIFETIME_MS: i64 = 600_000;
pub(super) const TOKEN_LIFETIME_MS: i64 = 900_000;
// The spec does not say; the kit chose.
pub(super) const LOGIN_IS_KNOWN_MS: i64 = 1_200_000;
pub(super) const CODE_LIFETIME_MS: i64 = 60_000;
/// Of both flows' upstream logins: a clean one ends with its login.
pub(super) const UPSTREAM_LOGIN_LIFETIME_MS: i64 = 600_000;
// Google's own documentation; GitHub's code outlives every upstream login.
pub(super) const GOOGLES_CODE_LIFETIME_MS: i64 = 60_000;

/// Some logins, and what was committed for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Model {
    /// Logins of the clean flow, by number.
    pub logins: BTreeMap<u8, Login>,
    /// Upstream logins of both flows, by number.
    pub upstream_logins: BTreeMap<u8, UpstreamLogin>,
    /// The number of codes that were exchanged with a provider.
    pub exchanges: u8,
    /// The number of steps that were committed.
    pub committed: Commits,
}

/// A login of the clean flow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Login {
    /// The first login that was started with the same key.
    pub key: u8,
    /// The project that started it.
    pub project: Project,
    /// The provider at which its user signs in.
    pub provider: Provider,
    /// The time of its start.
    pub opened: Interval,
    /// The browser that it is bound to.
    pub bound_to: Option<Visitor>,
    /// Its progress.
    pub progress: Progress,
}

/// The progress of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// No upstream login has finished.
    Pending,
    /// There is an outcome, which was not read.
    Completed(LoginOutcome),
    /// The outcome was read.
    Consumed,
}

/// The outcome of a login: the user of an upstream login, or an error.
pub type LoginOutcome = Result<u8, Failure>;

/// One visitor's login at a provider, in either flow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UpstreamLogin {
    /// The visitor that began it.
    pub visitor: Visitor,
    /// The provider.
    pub provider: Provider,
    /// Its end: an answer that is delivered later is refused.
    pub ends: Interval,
    /// The flow that it belongs to.
    pub purpose: Purpose,
    /// The sign-in at the provider, once that has ended.
    pub signed_in: Option<SignedIn>,
    /// Whether its answer was delivered.
    pub is_consumed: bool,
}

/// The flow of an upstream login.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The clean callback flow.
    Clean {
        /// The number of the login.
        login: u8,
    },
    /// The legacy flow.
    Legacy {
        /// The project that asked for it.
        project: Project,
        /// The code that it ended with.
        code: Option<Code>,
    },
}

/// The provider's answer to a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignedIn {
    /// The ending of the sign-in.
    pub ending: Ending,
    /// The time of the provider's answer.
    pub at: Interval,
}

/// A handoff code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Code {
    pub(super) issued: Interval,
    /// The token that it was redeemed for.
    pub token: Option<Token>,
}

/// An access token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token {
    pub(super) issued: Interval,
    /// Whether it was revoked, or its code was redeemed again.
    pub is_ended: bool,
}

impl Model {
    /// Whether `step` makes sense now, whatever the answer to it is.
    pub fn allows(&self, step: Step) -> bool {
        let is_taken = |begun| self.upstream_logins.keys().any(|it| *it >= begun);
        if step.begins().is_some_and(is_taken) {
            return false;
        }
        let is_signed_in = |upstream_login| {
            let begun = self.upstream_logins.get(&upstream_login);
            begun.map(|it| it.signed_in.is_some())
        };
        match step {
            Step::Start {
                login, key, wrong, ..
            } => {
                let is_new = self.logins.keys().all(|earlier| *earlier < login);
                let has_key = key == login || self.logins.get(&key).is_some_and(|it| it.key == key);
                is_new && has_key && wrong != Some(Wrong::Verifier)
            }
            Step::Visit { login, .. }
            | Step::Continue { login, .. }
            | Step::VisitUnvouched { login, .. }
            | Step::Cancel { login, .. } => self.logins.contains_key(&login),
            Step::Authorize { .. } => true,
            Step::SignIn { upstream_login, .. } => is_signed_in(upstream_login) == Some(false),
            Step::Deliver { upstream_login, .. } => is_signed_in(upstream_login) == Some(true),
            Step::Read { key, wrong, .. } => {
                self.logins.get(&key).is_some_and(|it| it.key == key)
                    && wrong != Some(Wrong::Verifier)
            }
            Step::Redeem { upstream_login, .. } => self.code(upstream_login).is_some(),
            Step::Profile { upstream_login } | Step::Revoke { upstream_login } => {
                self.token(upstream_login).is_some()
            }
        }
    }

    /// Whether there is what `step` is about: an upstream login that can be signed in or was
    /// begun, a code, a token. Where an operation may be any of several steps, only such a one is.
    pub fn has_subject_of(&self, step: Step) -> bool {
        match step {
            Step::Deliver { upstream_login, .. } => {
                self.upstream_logins.contains_key(&upstream_login)
            }
            Step::SignIn { .. }
            | Step::Redeem { .. }
            | Step::Profile { .. }
            | Step::Revoke { .. } => self.allows(step),
            _ => true,
        }
    }

    /// The latest login that was started with a key.
    pub fn under_key(&self, key: u8) -> Option<(u8, &Login)> {
        let mut latest_first = self.logins.iter().rev();
        latest_first
            .find(|(_, login)| login.key == key)
            .map(|(id, login)| (*id, login))
    }

    /// The login, unless its key was used again.
    pub fn current(&self, login: u8) -> Option<&Login> {
        let found = self.logins.get(&login)?;
        let (latest, _) = self.under_key(found.key)?;
        (latest == login).then_some(found)
    }

    /// The code that an upstream login ended with.
    pub fn code(&self, upstream_login: u8) -> Option<&Code> {
        match &self.upstream_logins.get(&upstream_login)?.purpose {
            Purpose::Legacy { code, .. } => code.as_ref(),
            Purpose::Clean { .. } => None,
        }
    }

    /// The token that this code was redeemed for.
    pub fn token(&self, upstream_login: u8) -> Option<&Token> {
        self.code(upstream_login)?.token.as_ref()
    }

    pub(super) fn login_mut(&mut self, login: u8) -> &mut Login {
        self.logins.get_mut(&login).expect("it was started")
    }

    pub(super) fn upstream_login(&self, upstream_login: u8) -> &UpstreamLogin {
        &self.upstream_logins[&upstream_login]
    }

    pub(super) fn upstream_login_mut(&mut self, upstream_login: u8) -> &mut UpstreamLogin {
        let begun = self.upstream_logins.get_mut(&upstream_login);
        begun.expect("it has begun")
    }

    pub(super) fn code_mut(&mut self, upstream_login: u8) -> Option<(Project, &mut Code)> {
        match &mut self.upstream_logins.get_mut(&upstream_login)?.purpose {
            Purpose::Legacy {
                project,
                code: Some(code),
            } => Some((*project, code)),
            _ => None,
        }
    }

    pub(super) fn token_mut(&mut self, upstream_login: u8) -> Option<&mut Token> {
        self.code_mut(upstream_login)?.1.token.as_mut()
    }
}

impl Login {
    pub(super) fn new(key: u8, project: Project, provider: Provider, opened: Interval) -> Self {
        Self {
            key,
            project,
            provider,
            opened,
            bound_to: None,
            progress: Progress::Pending,
        }
    }

    /// The end of its result, from which on its key is free again.
    pub fn ends(&self) -> Interval {
        self.opened.plus_ms(LOGIN_LIFETIME_MS)
    }

    /// The time at which it is forgotten.
    pub fn known_until(&self) -> Interval {
        self.opened.plus_ms(LOGIN_IS_KNOWN_MS)
    }
}

impl UpstreamLogin {
    pub(super) fn new(
        visitor: Visitor,
        provider: Provider,
        ends: Interval,
        purpose: Purpose,
    ) -> Self {
        Self {
            visitor,
            provider,
            ends,
            purpose,
            signed_in: None,
            is_consumed: false,
        }
    }

    /// The end of the provider's own code, if that may come first.
    pub fn code_ends(&self) -> Option<Interval> {
        match (self.provider, self.signed_in) {
            (Provider::Google, Some(it)) => Some(it.at.plus_ms(GOOGLES_CODE_LIFETIME_MS)),
            _ => None,
        }
    }

    pub(super) fn has_code(&self) -> bool {
        let ending = self.signed_in.map(|it| it.ending);
        !matches!(ending, Some(Ending::Error(_)) | None)
    }

    pub(super) fn outcome(&self, own: u8, now: &mut Now) -> LoginOutcome {
        let ending = self.signed_in.map(|it| it.ending);
        if let Some(Ending::Error(failure)) = ending {
            return Err(failure);
        }
        let ends = self.code_ends();
        if ends.is_some_and(|ends| !now.is_before(ends)) {
            return Err(Failure::Invalid);
        }
        match ending {
            Some(Ending::BadCode(failure)) => Err(failure),
            _ => Ok(own),
        }
    }
}

impl Code {
    /// The end of the code.
    pub fn ends(&self) -> Interval {
        self.issued.plus_ms(CODE_LIFETIME_MS)
    }
}

impl Token {
    /// The end of the token, if it is not revoked before.
    pub fn ends(&self) -> Interval {
        self.issued.plus_ms(TOKEN_LIFETIME_MS)
    }
}

/// A step that is committed to the store and noted in the broker's audit log, in the order in
/// which logins take them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Commit {
    /// A login is pending.
    Opened,
    /// It is bound to a browser.
    Bound,
    /// An upstream login cannot be used again.
    UpstreamLoginConsumed,
    /// The login has an outcome.
    Completed,
    /// The outcome was read, and cannot be read again.
    ResultConsumed,
    /// A code waits for its redemption.
    CodeIssued,
    /// The code became a token.
    CodeRedeemed,
    /// The token is ended.
    TokenRevoked,
}

/// The number of commits of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Commits([u8; Commit::VARIANTS.len()]);

impl Commit {
    /// All of them, in the order in which logins take them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name in the audit log.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Commits {
    /// The number of commits of one kind.
    pub fn count(&self, commit: Commit) -> u8 {
        self.0[commit as usize]
    }

    /// The names of all, in order, each as often as it was committed.
    pub fn names(&self) -> String {
        let times = |commit: &Commit| vec![commit.name(); self.count(*commit).into()];
        let names: Vec<_> = Commit::ALL.iter().flat_map(times).collect();
        names.join(" ")
    }

    /// Whether every commit of `other` is among these.
    pub fn include(self, other: Self) -> bool {
        let mut pairs = self.0.iter().zip(other.0);
        pairs.all(|(ours, theirs)| *ours >= theirs)
    }

    /// Counts one more.
    pub fn add(&mut self, commit: Commit) {
        self.0[commit as usize] += 1;
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(array::from_fn(|kind| self.0[kind] + other.0[kind]))
    }

    /// The commits since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(array::from_fn(|kind| self.0[kind] - earlier.0[kind]))
    }
}
