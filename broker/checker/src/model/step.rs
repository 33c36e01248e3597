//! Operations on logins, without their secrets: `Debug` is what a script pastes,
//! `Display` is for readers.

use std::fmt;

use strum::{EnumString, IntoStaticStr};

/// One operation. Logins and upstream logins are numbered in the order in which they
/// begin, by the step that begins them, so that a script stays the same script when
/// lines are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A backend starts clean login `login`, with the key of login `key`: a fresh one,
    /// if that is its own number.
    Start {
        /// The number of the new login.
        login: u8,
        /// The first login that was started with the same key.
        key: u8,
        /// The project that starts it.
        by: Project,
        /// The provider of the login.
        at: Provider,
        /// The flaw of the request, if it has one.
        wrong: Option<Wrong>,
    },
    /// A visitor from the project's own page opens an authorization URL, which may
    /// begin an upstream login.
    Visit {
        /// The number of the login.
        login: u8,
        /// The visitor.
        by: Visitor,
        /// The number of the upstream login that may begin.
        upstream_login: u8,
    },
    /// A browser opens an authorization URL, and nothing shows where it comes from.
    VisitUnvouched {
        /// The number of the login.
        login: u8,
        /// The visitor.
        by: Visitor,
    },
    /// A browser presses Continue on the confirmation page, which does the same.
    Continue {
        /// The number of the login.
        login: u8,
        /// The visitor.
        by: Visitor,
        /// The number of the upstream login that may begin.
        upstream_login: u8,
    },
    /// A browser presses Cancel on the confirmation page.
    Cancel {
        /// The number of the login.
        login: u8,
        /// The visitor.
        by: Visitor,
    },
    /// A visitor opens a project's `GET /authorize`, which begins an upstream login.
    Authorize {
        /// The number of the new upstream login.
        upstream_login: u8,
        /// The visitor.
        by: Visitor,
        /// The project.
        project: Project,
        /// The provider of the upstream login.
        at: Provider,
    },
    /// The user signs in at the provider, and the browser keeps the provider's answer.
    SignIn {
        /// The number of the upstream login.
        upstream_login: u8,
        /// The ending of the sign-in.
        ending: Ending,
    },
    /// A visitor brings the provider's answer to the broker's callback.
    Deliver {
        /// The number of the upstream login.
        upstream_login: u8,
        /// The visitor.
        by: Visitor,
    },
    /// A backend reads the result of the latest login under a key.
    Read {
        /// The first login that was started with the key.
        key: u8,
        /// The project that reads.
        by: Project,
        /// The flaw of the request, if it has one.
        wrong: Option<Wrong>,
    },
    /// A backend redeems the code that an upstream login brought back.
    Redeem {
        /// The number of the upstream login.
        upstream_login: u8,
        /// The project that redeems.
        by: Project,
        /// The flaw of the request, if it has one.
        wrong: Option<Wrong>,
    },
    /// A profile is read with the token of an upstream login's code.
    Profile {
        /// The number of the upstream login.
        upstream_login: u8,
    },
    /// That token is revoked.
    Revoke {
        /// The number of the upstream login.
        upstream_login: u8,
    },
}

/// A consumer of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Project {
    /// The project of most steps.
    A,
    /// Another one.
    B,
}

/// A provider at which users sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Provider {
    /// Its codes end after a minute.
    Google,
    /// Its codes outlive every upstream login.
    GitHub,
}

/// A visitor of the broker's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visitor {
    /// One browser.
    Browser(u8),
    /// A client that is no browser.
    Curl,
}

/// A flaw of a backend's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// The client secret.
    Secret,
    /// The callback: to start a login, one that is not registered; later on, one that is.
    Callback,
    /// The code verifier.
    Verifier,
}

/// The ending of a sign-in at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The user signs in.
    Success,
    /// The provider's answer is an error: there is no code to exchange.
    Error(Failure),
    /// The provider's answer is a code that leads to no profile.
    BadCode(Failure),
}

/// The error that a login ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr)]
pub enum Failure {
    /// The user declined, or cancelled on the confirmation page.
    #[strum(serialize = "access_denied")]
    Denied,
    /// The provider, or the broker's way to it, failed.
    #[strum(serialize = "provider_unavailable")]
    Unavailable,
    /// The provider's answer was not one.
    #[strum(serialize = "invalid_provider_response")]
    Invalid,
}

impl Step {
    /// A [start](Self::Start) under the key of login 1.
    pub fn start(login: u8, by: Project, at: Provider, wrong: Option<Wrong>) -> Self {
        Self::Start {
            login,
            key: 1,
            by,
            at,
            wrong,
        }
    }

    /// A [visit](Self::Visit).
    pub fn visit(login: u8, by: Visitor, upstream_login: u8) -> Self {
        Self::Visit {
            login,
            by,
            upstream_login,
        }
    }

    /// A legacy [authorization](Self::Authorize).
    pub fn authorize(upstream_login: u8, by: Visitor, project: Project, at: Provider) -> Self {
        Self::Authorize {
            upstream_login,
            by,
            project,
            at,
        }
    }

    /// A [sign-in](Self::SignIn).
    pub fn sign_in(upstream_login: u8, ending: Ending) -> Self {
        Self::SignIn {
            upstream_login,
            ending,
        }
    }

    /// A [delivery](Self::Deliver).
    pub fn deliver(upstream_login: u8, by: Visitor) -> Self {
        Self::Deliver { upstream_login, by }
    }

    /// A [read](Self::Read) of the latest login under the key of login 1.
    pub const fn read(by: Project, wrong: Option<Wrong>) -> Self {
        Self::Read { key: 1, by, wrong }
    }

    /// A [redemption](Self::Redeem).
    pub const fn redeem(upstream_login: u8, by: Project, wrong: Option<Wrong>) -> Self {
        Self::Redeem {
            upstream_login,
            by,
            wrong,
        }
    }

    /// The upstream login that it may begin.
    pub fn begins(self) -> Option<u8> {
        match self {
            Self::Visit { upstream_login, .. }
            | Self::Continue { upstream_login, .. }
            | Self::Authorize { upstream_login, .. } => Some(upstream_login),
            _ => None,
        }
    }

    /// The visitor who takes it, if a visitor does.
    pub fn by(self) -> Option<Visitor> {
        match self {
            Self::Visit { by, .. }
            | Self::VisitUnvouched { by, .. }
            | Self::Continue { by, .. }
            | Self::Cancel { by, .. }
            | Self::Authorize { by, .. }
            | Self::Deliver { by, .. } => Some(by),
            _ => None,
        }
    }

    /// The same step, where what it may begin has a higher number.
    #[must_use]
    pub fn again(mut self, higher: u8) -> Self {
        match &mut self {
            Self::Start { login: number, .. }
            | Self::Visit {
                upstream_login: number,
                ..
            }
            | Self::Continue {
                upstream_login: number,
                ..
            }
            | Self::Authorize {
                upstream_login: number,
                ..
            } => *number += higher,
            _ => {}
        }
        self
    }
}

impl Provider {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Google, Self::GitHub];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Failure {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
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
            Self::Visit { login, by, .. } => write!(f, "login {login}: {by} opens its address"),
            Self::Continue { login, by, .. } => write!(f, "login {login}: {by} presses Continue"),
            Self::VisitUnvouched { login, by, .. } => {
                write!(f, "login {login}: {by} opens its address from elsewhere")
            }
            Self::Cancel { login, by } => write!(f, "login {login}: {by} presses Cancel"),
            Self::Authorize {
                upstream_login,
                by,
                project,
                at,
            } => write!(
                f,
                "upstream login {upstream_login}: project {project:?} sends {by} to {at:?} by GET /authorize"
            ),
            Self::SignIn {
                upstream_login,
                ending,
            } => write!(f, "upstream login {upstream_login}: {ending}"),
            Self::Deliver { upstream_login, by } => write!(
                f,
                "upstream login {upstream_login}: {by} delivers the provider's answer"
            ),
            Self::Read { key, by, wrong } => {
                write!(f, "key of login {key}: project {by:?} reads the result")?;
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

impl fmt::Display for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser(number) => write!(f, "browser {number}"),
            Self::Curl => f.write_str("a client that is no browser"),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("the user signs in"),
            Self::Error(failure) => write!(f, "the provider's answer is {}", failure.name()),
            Self::BadCode(failure) => {
                write!(f, "the provider's code leads to {}", failure.name())
            }
        }
    }
}
