//! A script of a history, line by line: `Debug` is what a regression test pastes,
//! `Display` is for readers.

use std::fmt;

use checker::model::{Answer, Code, Login, Model, Step, Token, UpstreamLogin};

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Line {
    /// An operation.
    Do(Step),
    /// The clock moves to a moment, or to a little before or after it.
    Clock { to: Moment, off_ms: i64 },
}

/// A moment at which something ends, by the number of its login or upstream login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// The model, at a time in milliseconds since the beginning of the history.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimedModel {
    pub(crate) model: Model,
    pub(crate) now_ms: i64,
}

impl TimedModel {
    /// Whether `line` makes sense now, whatever comes of it.
    pub(crate) fn allows(&self, line: Line) -> bool {
        match line {
            Line::Do(step) => self.model.allows(step),
            Line::Clock { to, off_ms } => self
                .when(to)
                .is_some_and(|at_ms| at_ms + off_ms > self.now_ms),
        }
    }

    /// Takes a line that it [allows](Self::allows). The answer that the broker must give,
    /// if it is asked for one.
    pub(crate) fn step(&mut self, line: Line) -> Option<Answer> {
        match line {
            Line::Do(step) => return Some(self.take(step)),
            Line::Clock { to, off_ms } => {
                self.now_ms = self.when(to).expect("it is allowed") + off_ms;
            }
        }
        None
    }

    /// Takes a step.
    pub(crate) fn take(&mut self, step: Step) -> Answer {
        self.model.step(step, self.now_ms)
    }

    /// The state, as far as later answers depend on it.
    pub(crate) fn observable(&self) -> Model {
        self.model.observable(self.now_ms)
    }

    /// The time of a moment; none while its object does not exist.
    pub(crate) fn when(&self, moment: Moment) -> Option<i64> {
        let upstream_login = |number| self.model.upstream_logins.get(number);
        let at = match &moment {
            Moment::LoginEnds(login) => self.model.logins.get(login).map(Login::ends),
            Moment::LoginForgotten(login) => self.model.logins.get(login).map(Login::known_until),
            Moment::UpstreamLoginEnds(number) => upstream_login(number).map(|it| it.ends),
            Moment::AnswerStale(number) => {
                upstream_login(number).and_then(UpstreamLogin::code_ends)
            }
            Moment::CodeEnds(number) => self.model.code(*number).map(Code::ends),
            Moment::TokenEnds(number) => self.model.token(*number).map(Token::ends),
        };
        at.map(|at| at.earliest_ms)
    }
}
