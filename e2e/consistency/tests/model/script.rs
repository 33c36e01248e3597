//! A script of a history, line by line: `Debug` is what a regression test pastes,
//! `Display` is for readers.

use std::fmt;

use consistency::model::Step;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// An operation.
    Do(Step),
    /// The clock moves to a moment, or to a little before or after it.
    Clock { to: Moment, off_ms: i64 },
    /// The clock moves on.
    Wait { ms: i64 },
    /// The broker stops, and another one starts on the same database.
    Restart,
}

/// A moment at which something ends, by the number of its login or upstream login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    LoginEnds(u8),
    LoginForgotten(u8),
    UpstreamLoginEnds(u8),
    AnswerStale(u8),
    CodeEnds(u8),
    TokenEnds(u8),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Do(step) => step.fmt(f),
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
