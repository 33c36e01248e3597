//! What may happen next, as a line of a script: `Debug` is what a regression test
//! pastes, `Display` is what a person reads.

use std::fmt;

/// One step. Logins and upstream logins are numbered in the order of their beginning, in
/// the step that begins them, so that a script stays the same script when lines
/// are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A backend starts clean login `login`, with the key of login `key`: a fresh
    /// one, if that is its own number.
    Start {
        login: u8,
        key: u8,
        by: Project,
        at: Provider,
        wrong: Option<Wrong>,
    },
    /// Somebody opens the authorization URL of a login, which may begin an upstream login.
    Visit {
        login: u8,
        by: Visitor,
        upstream_login: u8,
    },
    /// Somebody opens a project's `GET /authorize`, which begins an upstream login.
    Authorize {
        upstream_login: u8,
        by: Visitor,
        project: Project,
        at: Provider,
    },
    /// The traveller gets an answer of the provider, and keeps it.
    SignIn { upstream_login: u8, ending: Ending },
    /// Somebody brings the provider's answer to the broker's callback.
    Deliver { upstream_login: u8, by: Visitor },
    /// A backend reads the result of a login.
    Read {
        login: u8,
        by: Project,
        wrong: Option<Wrong>,
    },
    /// A backend redeems the code that an upstream login brought home.
    Redeem {
        upstream_login: u8,
        by: Project,
        wrong: Option<Wrong>,
    },
    /// Somebody reads the profile with the token of an upstream login's code.
    Profile { upstream_login: u8 },
    /// Somebody revokes that token.
    Revoke { upstream_login: u8 },
    /// The clock goes to a moment, or to a little before or after it.
    Clock { to: Moment, off_ms: i64 },
    /// The clock goes on.
    Wait { ms: i64 },
    /// The broker stops, and another one starts on the same database.
    Restart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Project {
    A,
    B,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    Google,
    GitHub,
}

/// Who comes to the broker's pages: two browsers, and a client that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visitor {
    Ann,
    Bob,
    Curl,
}

/// What a backend gets wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    Secret,
    /// To start a login, one that is not registered; later on, one that is.
    Callback,
    Verifier,
}

/// How a sign-in at the provider ends.
pub(super) type Ending = Result<(), Failure>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    Denied,
    Unavailable,
    Invalid,
}

/// A moment at which something ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    LoginEnds(u8),
    LoginForgotten(u8),
    UpstreamLoginEnds(u8),
    AnswerStale(u8),
    CodeEnds(u8),
    TokenEnds(u8),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Start {
                login,
                key,
                by,
                at,
                wrong,
            } => {
                write!(f, "login {login}: project {by:?} starts it at {at:?}")?;
                if key != login {
                    write!(f, " with the key of login {key}")?;
                }
                but(f, wrong)
            }
            Self::Visit {
                login,
                by,
                upstream_login,
            } => {
                write!(
                    f,
                    "login {login}: {by:?} opens its address, perhaps for upstream login {upstream_login}"
                )
            }
            Self::Authorize {
                upstream_login,
                by,
                project,
                at,
            } => {
                write!(
                    f,
                    "upstream login {upstream_login}: {by:?} is sent to {at:?} by GET /authorize of project {project:?}"
                )
            }
            Self::SignIn {
                upstream_login,
                ending: Ok(()),
            } => write!(f, "upstream login {upstream_login}: the person signs in"),
            Self::SignIn {
                upstream_login,
                ending: Err(failure),
            } => {
                write!(f, "upstream login {upstream_login}: {}", failure.story())
            }
            Self::Deliver { upstream_login, by } => {
                write!(
                    f,
                    "upstream login {upstream_login}: {by:?} delivers the provider's answer"
                )
            }
            Self::Read { login, by, wrong } => {
                write!(f, "login {login}: project {by:?} reads the result")?;
                but(f, wrong)
            }
            Self::Redeem {
                upstream_login,
                by,
                wrong,
            } => {
                write!(
                    f,
                    "upstream login {upstream_login}: project {by:?} redeems the code"
                )?;
                but(f, wrong)
            }
            Self::Profile { upstream_login } => write!(
                f,
                "upstream login {upstream_login}: the profile is read with the token"
            ),
            Self::Revoke { upstream_login } => {
                write!(f, "upstream login {upstream_login}: the token is revoked")
            }
            Self::Clock { to, off_ms: 0 } => write!(f, "clock: to the very moment {to}"),
            Self::Clock { to, off_ms } => {
                let side = if off_ms < 0 { "before" } else { "after" };
                write!(f, "clock: to {} ms {side} {to}", off_ms.abs())
            }
            Self::Wait { ms } => write!(f, "clock: {ms} ms later"),
            Self::Restart => f.write_str("the broker is restarted"),
        }
    }
}

fn but(f: &mut fmt::Formatter<'_>, wrong: Option<Wrong>) -> fmt::Result {
    f.write_str(match wrong {
        None => "",
        Some(Wrong::Secret) => ", but with a wrong secret",
        Some(Wrong::Callback) => ", but with another callback",
        Some(Wrong::Verifier) => ", but with another verifier",
    })
}

impl Failure {
    /// The word for it on the wire.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Denied => "access_denied",
            Self::Unavailable => "provider_unavailable",
            Self::Invalid => "invalid_provider_response",
        }
    }

    fn story(self) -> &'static str {
        match self {
            Self::Denied => "the person cancels",
            Self::Unavailable => "the provider will break off",
            Self::Invalid => "the provider will refuse its own code",
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoginEnds(login) => write!(f, "login {login} ends"),
            Self::LoginForgotten(login) => write!(f, "login {login} is forgotten"),
            Self::UpstreamLoginEnds(upstream_login) => {
                write!(f, "upstream login {upstream_login} ends")
            }
            Self::AnswerStale(upstream_login) => write!(
                f,
                "the provider's code of upstream login {upstream_login} ends"
            ),
            Self::CodeEnds(upstream_login) => {
                write!(f, "the code of upstream login {upstream_login} ends")
            }
            Self::TokenEnds(upstream_login) => {
                write!(f, "the token of upstream login {upstream_login} ends")
            }
        }
    }
}
