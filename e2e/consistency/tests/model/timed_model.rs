//! The state of a script: the reference model, and the time.

use consistency::model::{Answer, Code, Login, Model, Step, Token, UpstreamLogin};

use crate::script::{Line, Moment};

/// Further upstream logins would push a browser's oldest one out of its cookies.
const MAX_UPSTREAM_LOGINS: u8 = 8;

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
            Line::Do(step) => begun_by(step) <= MAX_UPSTREAM_LOGINS && self.model.allows(step),
            Line::Clock { to, off_ms } => self
                .when(to)
                .is_some_and(|at_ms| at_ms + off_ms > self.now_ms),
            Line::Wait { ms } => ms > 0,
            Line::Restart => true,
        }
    }

    /// Takes a line that it [allows](Self::allows). The answer that the broker must give,
    /// if it is asked for one.
    pub(crate) fn step(&mut self, line: Line) -> Option<Answer> {
        match line {
            Line::Do(step) => return Some(self.model.step(step, self.now_ms)),
            Line::Clock { to, off_ms } => {
                self.now_ms = self.when(to).expect("it is allowed") + off_ms;
            }
            Line::Wait { ms } => self.now_ms += ms,
            // What was promised before still holds.
            Line::Restart => {}
        }
        None
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

/// The number of the upstream login that a step may begin; 0, if it begins none.
fn begun_by(step: Step) -> u8 {
    match step {
        Step::Visit { upstream_login, .. } | Step::Authorize { upstream_login, .. } => {
            upstream_login
        }
        _ => 0,
    }
}
