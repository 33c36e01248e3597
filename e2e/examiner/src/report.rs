//! The report: the grade, what to fix first, and every check with its evidence.

mod json;
mod junit;
mod markdown;
mod text;

use crate::app::{App, Flow};
use crate::catalogue::Effect;
use crate::examination::CheckResult;
use crate::grade::Grade;
use crate::learn::PreflightStep;
use crate::plan::ExaminationPlan;
use crate::tape::TapeLine;
use crate::verdict::Verdict;

/// Everything that an examination found.
#[derive(Debug, Clone)]
pub struct Report {
    /// The start page.
    pub target: String,
    /// `clean`, `legacy` or `both`.
    pub flow: &'static str,
    /// The grade.
    pub grade: Grade,
    /// What the preflight found.
    pub preflight: Vec<PreflightStep>,
    /// The checks, in the order of the catalogue.
    pub results: Vec<CheckResult>,
    /// The checks that were expected to fail.
    pub expected: Vec<String>,
    /// A plain sign-in by each flow, to compare with.
    pub good: Vec<(Flow, Vec<TapeLine>)>,
    /// The command of the app, as the examiner was given it.
    command: Vec<String>,
}

impl Report {
    pub(crate) fn new(
        plan: &ExaminationPlan,
        app: &App,
        preflight: Vec<PreflightStep>,
        results: Vec<CheckResult>,
        good: Vec<(Flow, Vec<TapeLine>)>,
    ) -> Self {
        let flow = match app.flows().as_slice() {
            [flow] => flow.as_str(),
            _ => "both",
        };
        Self {
            target: plan.start.to_string(),
            flow,
            grade: Grade::of(&results),
            preflight,
            results,
            expected: plan.expect.clone(),
            good,
            command: plan.command.clone(),
        }
    }

    /// The number of checks with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.results
            .iter()
            .filter(|it| it.verdict == verdict)
            .count()
    }

    /// The failure whose fix closes the worst attack.
    pub fn fix_first(&self) -> Option<&CheckResult> {
        let red = self.results.iter().filter(|it| it.verdict.is_red());
        red.max_by_key(|it| {
            let is_failure = it.verdict == Verdict::Fail;
            let is_attack = it.check.if_broken == Effect::Attack;
            // Of equals the first: later checks often fail for the same reason.
            let position = self
                .results
                .iter()
                .position(|other| std::ptr::eq(other, *it));
            (
                it.is_takeover,
                is_failure,
                is_attack,
                std::cmp::Reverse(it.check.severity),
                std::cmp::Reverse(position),
            )
        })
    }

    /// The checks that were expected to fail and passed.
    pub fn unexpected_passes(&self) -> Vec<&CheckResult> {
        let passes = self.results.iter().filter(|it| it.verdict == Verdict::Pass);
        passes
            .filter(|it| self.expected.contains(&it.check.id))
            .collect()
    }

    /// Whether the app may be used: the grade is A or better, except for known failures,
    /// and every known failure is still one.
    pub fn is_good(&self) -> bool {
        let unknown = self
            .results
            .iter()
            .filter(|it| !self.expected.contains(&it.check.id));
        let unknown: Vec<_> = unknown.cloned().collect();
        let grade = if unknown.is_empty() {
            self.grade
        } else {
            Grade::of(&unknown)
        };
        grade.is_good() && self.unexpected_passes().is_empty()
    }

    /// Whether the examiner itself failed somewhere.
    pub fn has_harness_trouble(&self) -> bool {
        self.count(Verdict::Harness) > 0
    }

    /// The command that repeats one check.
    pub fn repeat(&self, id: &str) -> String {
        let command = match self.command.as_slice() {
            [] => String::new(),
            words => format!(
                " -- {}",
                words
                    .iter()
                    .map(|it| quoted(it))
                    .collect::<Vec<_>>()
                    .join(" ")
            ),
        };
        format!("just examine {} --only {id}{command}", self.target)
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
