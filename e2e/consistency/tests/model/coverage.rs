//! Counts the rules and deadlines that the scripts reached. A run fails if one was never
//! reached.

use std::collections::BTreeMap;
use std::fmt;

use consistency::model::{Answer, Step};

use crate::script::{Line, Moment};
use crate::timed_model::TimedModel;

/// The number of times that each kind of step got each kind of answer, anywhere and on the
/// edge of each kind of moment.
#[derive(Debug, Default)]
pub(crate) struct Coverage(BTreeMap<String, u32>);

impl Coverage {
    /// Notes that `line` was taken in `before` and got `answer`.
    pub(crate) fn note(&mut self, before: &TimedModel, line: Line, answer: Option<Answer>) {
        let (Line::Do(step), Some(answer)) = (line, answer) else {
            return self.count(kind(line));
        };
        let (step_kind, answer_kind) = (kind(step), kind(answer));
        self.count(format!("{step_kind}: {answer_kind}"));
        for (moment, off_ms) in edges(before, line) {
            self.count(format!("{step_kind} at {}{off_ms:+}", kind(moment)));
        }
    }

    pub(crate) fn join(&mut self, other: Self) {
        for (what, times) in other.0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    pub(crate) fn has(&self, what: &str) -> bool {
        self.0.contains_key(what)
    }

    fn count(&mut self, what: String) {
        *self.0.entry(what).or_default() += 1;
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(what, times)| writeln!(f, "{times:>8}  {what}"))
    }
}

/// The moments that decide what comes of `line` and are no more than a
/// millisecond away, with how far past them the clock is.
pub(crate) fn edges(timed: &TimedModel, line: Line) -> Vec<(Moment, i64)> {
    let off = |moment| Some((moment, timed.now_ms - timed.when(moment)?));
    let Line::Do(step) = line else {
        return Vec::new();
    };
    deciding(timed, step)
        .into_iter()
        .filter_map(off)
        .filter(|(_, off_ms)| off_ms.abs() <= 1)
        .collect()
}

fn deciding(timed: &TimedModel, step: Step) -> Vec<Moment> {
    let under_key = |key| timed.model.under_key(key).map(|(login, _)| login);
    match step {
        Step::Start { key, .. } | Step::Read { key, .. } => {
            under_key(key).map(Moment::LoginEnds).into_iter().collect()
        }
        Step::Visit { login, .. }
        | Step::VisitUnvouched { login, .. }
        | Step::Cancel { login, .. } => {
            vec![Moment::LoginEnds(login), Moment::LoginForgotten(login)]
        }
        Step::Deliver { upstream_login, .. } => vec![
            Moment::UpstreamLoginEnds(upstream_login),
            Moment::AnswerStale(upstream_login),
        ],
        Step::Redeem { upstream_login, .. } if timed.model.token(upstream_login).is_none() => {
            vec![Moment::CodeEnds(upstream_login)]
        }
        Step::Redeem { upstream_login, .. } | Step::Profile { upstream_login } => {
            vec![Moment::TokenEnds(upstream_login)]
        }
        Step::Authorize { .. } | Step::SignIn { .. } | Step::Revoke { .. } => Vec::new(),
    }
}

/// The name of a variant, without what is in it.
fn kind(variant: impl fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let end = text.find([' ', '(', '{']).unwrap_or(text.len());
    text[..end].to_owned()
}
