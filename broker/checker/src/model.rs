//! The reference model: the answers that SPEC "States and transitions" and the kit's
//! own choices allow, small enough to be read in one sitting.
//!
//! It knows nothing of HTTP, databases or digests, and shares no type with the broker, so
//! that the two cannot be wrong in the same way. Its types have the broker's names on
//! purpose (`LoginOutcome`, `Purpose`, `Token`, `UpstreamLogin`, …): they are the same
//! concepts, compared in one history.
//!
//! A [`Model`] is the state of the logins; a [`Step`] is one operation on them. Played
//! one after the other by a clock that is known to the millisecond, [`Model::step`]
//! gives the one answer the broker must give. Where operations overlap and the clock is
//! known within an [`Interval`], the checker tries every decision of [`Now`], and an
//! operation that commits twice has two halves, [`Model::begin`] and [`Model::finish`].

mod equivalence;
mod flows;
mod state;
mod step;
mod time;

pub use state::{
    Code, Commit, Commits, Login, LoginOutcome, Model, Progress, Purpose, SignedIn, Token,
    UpstreamLogin,
};
pub use step::{Ending, Failure, Project, Provider, Step, Visitor, Wrong};
pub use time::{Interval, Now};

use state::UPSTREAM_LOGIN_LIFETIME_MS;

/// An answer of the broker. `User` names the user of a profile: by default the
/// number of the upstream login in which that user signed in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer<User = u8> {
    /// 200 with an authorization URL.
    Started,
    /// 400 with a generic error.
    Refused,
    /// 401 with a generic error.
    Unrecognised,
    /// 200: the login is pending.
    Pending,
    /// 200: the login succeeded.
    Succeeded(User),
    /// 200: the login failed.
    Failed(Failure),
    /// 303 to the provider.
    ToProvider,
    /// From the provider, not the broker: a redirect to the broker's callback.
    FromProvider,
    /// 200: the confirmation page.
    ConfirmationPage,
    /// 303 to the exact callback, nothing added.
    ToCallback,
    /// 303 to the callback with a code and the state.
    CallbackWithCode,
    /// 303 to the callback with an error and the state.
    CallbackWithError(Failure),
    /// 400, a page: the sign-in did not begin in this browser.
    NotThisBrowser,
    /// 400, a page: the upstream login was consumed, or has ended.
    UpstreamLoginOver,
    /// 404, a page: the login is not known, or not any more.
    NotKnown,
    /// 410, a page: the login is bound to another browser.
    AnotherBrowser,
    /// 200 with an access token.
    Token,
    /// 200 with the profile of the user.
    Profile(User),
    /// 200 with an empty object.
    Revoked,
}

/// An operation after its first commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Begun {
    /// It is answered.
    Answered(Answer),
    /// It commits once more before it answers.
    Underway(Rest),
}

/// The second half of an operation that commits twice, which is a delivery: the upstream login
/// is consumed; its outcome is not stored yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rest {
    /// The number of the upstream login.
    pub upstream_login: u8,
}

impl Model {
    /// Takes a step that [makes sense](Self::allows) at `now_ms`.
    ///
    /// # Panics
    ///
    /// If more than one answer is right, which an exact clock rules out.
    pub fn step(&mut self, step: Step, now_ms: i64) -> Answer {
        let mut now = Now::within(Interval::exactly(now_ms));
        let answer = match self.begin(step, &mut now) {
            Begun::Answered(answer) => answer,
            Begun::Underway(rest) => self.finish(rest, &mut now),
        };
        assert!(!now.advance(), "{step:?} has one answer");
        answer
    }

    /// Takes the step up to its first commit.
    pub fn begin(&mut self, step: Step, now: &mut Now) -> Begun {
        Begun::Answered(match step {
            Step::Start {
                login,
                key,
                by,
                at: provider,
                wrong,
            } => {
                let fresh = Login::new(key, by, provider, now.at);
                self.start(login, fresh, wrong, now)
            }
            Step::Visit {
                login,
                by,
                upstream_login,
            }
            | Step::Continue {
                login,
                by,
                upstream_login,
            } => self.visit(login, by, upstream_login, now),
            Step::VisitUnvouched { login, by } => self.ask(login, by, now),
            Step::Cancel { login, by } => self.cancel(login, by, now),
            Step::Authorize {
                upstream_login,
                by,
                project,
                at: provider,
            } => {
                let (code, ends) = (None, now.at.plus_ms(UPSTREAM_LOGIN_LIFETIME_MS));
                let purpose = Purpose::Legacy { project, code };
                let begun = UpstreamLogin::new(by, provider, ends, purpose);
                self.begin_upstream_login(upstream_login, begun)
            }
            Step::SignIn {
                upstream_login,
                ending,
            } => self.sign_in(upstream_login, ending, now.at),
            Step::Deliver { upstream_login, by } => {
                return self.deliver(upstream_login, by, now);
            }
            Step::Read { key, by, wrong } => self.read(key, by, wrong, now),
            Step::Redeem {
                upstream_login,
                by,
                wrong,
            } => self.redeem(upstream_login, by, wrong, now),
            Step::Profile { upstream_login } => self.profile(upstream_login, now),
            Step::Revoke { upstream_login } => self.revoke(upstream_login, now),
        })
    }

    /// Takes the second half of a step.
    pub fn finish(&mut self, Rest { upstream_login }: Rest, now: &mut Now) -> Answer {
        let delivered = self.upstream_login(upstream_login);
        let outcome = delivered.outcome(upstream_login, now);
        match delivered.purpose {
            Purpose::Clean { login } => self.complete(login, outcome, now),
            Purpose::Legacy { .. } => self.issue_code(upstream_login, outcome, now.at),
        }
    }

    /// The answer to a step whose second half the store could not take.
    pub fn finish_without_store(&self, Rest { upstream_login }: Rest) -> Answer {
        match self.upstream_login(upstream_login).purpose {
            Purpose::Clean { .. } => Answer::ToCallback,
            Purpose::Legacy { .. } => Answer::CallbackWithError(Failure::Unavailable),
        }
    }

    fn begin_upstream_login(&mut self, upstream_login: u8, begun: UpstreamLogin) -> Answer {
        self.upstream_logins.insert(upstream_login, begun);
        Answer::ToProvider
    }

    fn sign_in(&mut self, upstream_login: u8, ending: Ending, at: Interval) -> Answer {
        self.upstream_login_mut(upstream_login).signed_in = Some(SignedIn { ending, at });
        Answer::FromProvider
    }

    /// The provider's answer counts once, within the upstream login's lifetime, in the
    /// browser that began the upstream login. From then on the provider is called,
    /// unless its answer was an error.
    fn deliver(&mut self, upstream_login: u8, by: Visitor, now: &mut Now) -> Begun {
        let delivered = self.upstream_login_mut(upstream_login);
        if delivered.visitor != by {
            return Begun::Answered(Answer::NotThisBrowser);
        }
        if delivered.is_consumed || !now.is_before(delivered.ends) {
            return Begun::Answered(match delivered.purpose {
                Purpose::Clean { .. } => Answer::ToCallback,
                Purpose::Legacy { .. } => Answer::UpstreamLoginOver,
            });
        }
        delivered.is_consumed = true;
        let is_exchanged = delivered.has_code();
        self.exchanges += u8::from(is_exchanged);
        self.committed.add(Commit::UpstreamLoginConsumed);
        Begun::Underway(Rest { upstream_login })
    }
}

impl<User> Answer<User> {
    /// Its HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::Refused | Self::NotThisBrowser | Self::UpstreamLoginOver => 400,
            Self::Unrecognised => 401,
            Self::NotKnown => 404,
            Self::AnotherBrowser => 410,
            Self::ToProvider
            | Self::FromProvider
            | Self::ToCallback
            | Self::CallbackWithCode
            | Self::CallbackWithError(_) => 303,
            _ => 200,
        }
    }

    /// The same answer with the users named in another way.
    pub fn map<Other>(self, user: impl FnOnce(User) -> Other) -> Answer<Other> {
        match self {
            Self::Succeeded(it) => Answer::Succeeded(user(it)),
            Self::Profile(it) => Answer::Profile(user(it)),
            Self::Started => Answer::Started,
            Self::Refused => Answer::Refused,
            Self::Unrecognised => Answer::Unrecognised,
            Self::Pending => Answer::Pending,
            Self::Failed(failure) => Answer::Failed(failure),
            Self::ToProvider => Answer::ToProvider,
            Self::FromProvider => Answer::FromProvider,
            Self::ConfirmationPage => Answer::ConfirmationPage,
            Self::ToCallback => Answer::ToCallback,
            Self::CallbackWithCode => Answer::CallbackWithCode,
            Self::CallbackWithError(failure) => Answer::CallbackWithError(failure),
            Self::NotThisBrowser => Answer::NotThisBrowser,
            Self::UpstreamLoginOver => Answer::UpstreamLoginOver,
            Self::NotKnown => Answer::NotKnown,
            Self::AnotherBrowser => Answer::AnotherBrowser,
            Self::Token => Answer::Token,
            Self::Revoked => Answer::Revoked,
        }
    }
}
