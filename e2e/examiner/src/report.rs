//! The report: the grade, what to fix first, and every check with its evidence.

mod badge;
mod compare;
mod fix;
mod formats;
mod origin;
mod run;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use fix::program;

use std::cmp::Reverse;
use std::time::Duration;

use crate::app::{App, Flow};
use crate::catalogue::{self, Check, Effect};
use crate::learn::PreflightStep;
use crate::plan::ExaminationPlan;
use crate::result::{CheckResult, Grade};
use crate::transcript::TranscriptLine;
use crate::trial::IDLE;
use crate::verdict::Verdict;

pub use compare::{Comparison, OlderReport};
pub use origin::Origin;

/// Everything that an examination found.
#[derive(Debug, Clone)]
pub struct Report {
    /// The start page.
    pub target: String,
    /// `clean`, `legacy` or `both`.
    pub flow: &'static str,
    /// The grade.
    pub grade: Grade,
    /// The judge, the time, and the app that was examined.
    pub origin: Origin,
    /// The difference from an older report, if there is one to compare with.
    pub compared: Option<Comparison>,
    /// The findings of the preflight.
    pub preflight: Vec<PreflightStep>,
    /// The checks, in the order of the catalogue.
    pub results: Vec<CheckResult>,
    /// The checks that were expected to fail.
    pub expected: Vec<String>,
    /// A plain sign-in by each flow, to compare with.
    pub good: Vec<(Flow, Vec<TranscriptLine>)>,
    /// The command of the app, as the examiner was given it.
    command: Vec<String>,
    /// The flags of its plan.
    flags: Vec<String>,
}

impl Report {
    pub(crate) fn new(
        plan: &ExaminationPlan,
        origin: Origin,
        app: &App,
        preflight: Vec<PreflightStep>,
        results: Vec<CheckResult>,
        good: Vec<(Flow, Vec<TranscriptLine>)>,
    ) -> Self {
        let flow = match app.flows().as_slice() {
            [flow] => flow.as_str(),
            _ => "both",
        };
        let mut report = Self {
            target: plan.start.to_string(),
            flow,
            grade: Grade::APlus,
            origin,
            compared: None,
            preflight,
            results,
            expected: plan.expect.clone(),
            good,
            command: plan.command.clone(),
            flags: plan.flags(),
        };
        report.grade = report.graded();
        report.printable()
    }

    /// The grade of the checks that its catalogue has.
    fn graded(&self) -> Grade {
        let counted = self.results.iter().filter(|it| self.is_graded(it));
        let counted: Vec<_> = counted.cloned().collect();
        grade(&counted, &self.preflight)
    }

    /// Whether the catalogue by which it grades has the check.
    pub fn is_graded(&self, result: &CheckResult) -> bool {
        self.origin.counts(result.check)
    }

    /// The report beside an older one.
    #[must_use]
    pub fn compared_with(self, older: &OlderReport) -> Self {
        Self {
            compared: Some(Comparison::of(older, &self)),
            ..self
        }
    }

    /// The report without what an app could steer a terminal by.
    fn printable(mut self) -> Self {
        for step in &mut self.preflight {
            step.says = printable(&step.says);
        }
        for result in &mut self.results {
            result.actual = printable(&result.actual);
            printable_transcript(&mut result.evidence);
        }
        for (_, transcript) in &mut self.good {
            printable_transcript(transcript);
        }
        self
    }

    /// This report with the results of a newer one, which repeats some of its checks.
    #[must_use]
    pub fn updated(self, mut newer: Self) -> Self {
        for old in self.results {
            if !newer.results.iter().any(|it| it.check.id == old.check.id) {
                newer.results.push(old);
            }
        }
        let order = catalogue::checks();
        newer
            .results
            .sort_by_key(|it| order.iter().position(|check| check.id == it.check.id));
        newer.grade = newer.graded();
        newer
    }

    /// The grade; none of a part of the checks, unless that shows how bad the whole is.
    pub fn shown_grade(&self) -> Option<Grade> {
        let is_whole = self.results.len() == catalogue::checks().len();
        (is_whole || !self.grade.is_good()).then_some(self.grade)
    }

    /// The title of the report: `Grade A`.
    pub fn title(&self) -> String {
        let grade = self.shown_grade();
        grade.map_or("No grade".to_owned(), |it| format!("Grade {}", it.as_str()))
    }

    /// The meaning of the grade, and the number of checks that it leaves out.
    pub fn meaning(&self) -> String {
        let (run, all) = (self.results.len(), catalogue::checks().len());
        let mut meaning = self.meaning_of_tried();
        let newer = self.results.iter().filter(|it| !self.is_graded(it)).count();
        if newer > 0 {
            let catalogue = &self.origin.catalogue;
            meaning = format!(
                "{meaning} It leaves out {newer} that came after the catalogue {catalogue}."
            );
        }
        if run == all {
            return meaning;
        }
        format!("{meaning} This examination ran {run} of the {all} checks.")
    }

    fn meaning_of_tried(&self) -> String {
        let untested = self.count(Verdict::NotTested) + self.count(Verdict::Harness);
        let mut counted = self.results.iter().filter(|it| self.is_graded(it));
        let has_red = counted.any(|it| it.verdict.is_red());
        let meaning = match self.grade {
            Grade::A if has_red && self.shown_grade().is_none() => {
                "Good practice is missing in places."
            }
            Grade::A if has_red => self.grade.meaning(),
            Grade::A if self.count(Verdict::Pass) == 0 => "Nothing was tried.",
            Grade::A => "Everything that was tried passes.",
            grade => grade.meaning(),
        };
        let untried = match self.preflight.iter().any(PreflightStep::is_untried) {
            true => " What the preflight names as untried is left out.",
            false => "",
        };
        let meaning = format!("{meaning}{untried}");
        match untested {
            0 => meaning,
            1 => format!("{meaning} The grade leaves out the one check that was not tested."),
            _ => format!(
                "{meaning} The grade leaves out the {untested} checks that were not tested."
            ),
        }
    }

    /// The waits and limits on which verdicts of this report rest, in sentences; none if no such
    /// check ran.
    pub fn waits(&self) -> Option<String> {
        let waits = self.times(|check| check.wait_ms);
        let limits = self.times(|check| check.limit_ms);
        let waits = waits.map(|it| format!("These checks wait, because timers of the app cannot be moved, and see nothing that happens later: {it}."));
        let limits = limits.map(|it| format!("In these an app that needs longer fails: {it}."));
        let mut sentences: Vec<_> = waits.into_iter().chain(limits).collect();
        if sentences.is_empty() {
            return None;
        }
        let idle = IDLE.as_secs_f64();
        sentences.push(format!(
            "Every check that counts calls waits until the app has made none for {idle} s."
        ));
        Some(sentences.join(" "))
    }

    /// The checks that were tried and have such a time, each with it in seconds; none
    /// if there is none.
    fn times(&self, member: fn(&Check) -> Option<u64>) -> Option<String> {
        let tried = |it: &&CheckResult| matches!(it.verdict, Verdict::Pass | Verdict::Fail);
        let times = self.results.iter().filter(tried).filter_map(|it| {
            let seconds = Duration::from_millis(member(it.check)?).as_secs_f64();
            Some(format!("{} ({seconds} s)", it.check.id))
        });
        let times: Vec<_> = times.collect();
        (!times.is_empty()).then(|| times.join(", "))
    }

    /// The number of checks with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.with(verdict).len()
    }

    /// The checks with this verdict, in the order of the catalogue.
    pub fn with(&self, verdict: Verdict) -> Vec<&CheckResult> {
        let results = self.results.iter();
        results.filter(|it| it.verdict == verdict).collect()
    }

    /// The failures, what could not be tried, and failures of the examiner's own; the worst
    /// first, and last what is no reason to act: known failures, and checks that do not count.
    pub fn findings(&self) -> Vec<&CheckResult> {
        let results = self.results.iter();
        let mut findings: Vec<_> = results
            .filter(|it| it.verdict.is_red() || it.verdict == Verdict::Harness)
            .collect();
        // Of equals the first of the catalogue stays first: later checks often fail for
        // the same reason.
        findings.sort_by_key(|it| {
            (
                self.is_expected(it) || !self.is_graded(it),
                !it.is_end_of_app,
                it.verdict.rank(),
                Reverse(it.is_takeover),
                it.is_server_error,
                it.check.if_broken != Effect::Attack,
                it.check.severity,
                Reverse(it.check.if_broken),
            )
        });
        findings
    }

    /// The failure whose fix closes the worst attack.
    pub fn fix_first(&self) -> Option<&CheckResult> {
        let mut findings = self.findings().into_iter();
        findings.find(|it| it.verdict.is_red())
    }

    /// Whether the check is known to fail.
    pub fn is_expected(&self, result: &CheckResult) -> bool {
        self.expected.contains(&result.check.id)
    }

    /// The checks that were expected to fail and passed.
    pub fn unexpected_passes(&self) -> Vec<&CheckResult> {
        let passes = self.with(Verdict::Pass).into_iter();
        passes.filter(|it| self.is_expected(it)).collect()
    }

    /// Whether the app may be used: the grade is A or better, except for known failures,
    /// every known failure is still one, and nothing is worse than in an older report.
    pub fn is_good(&self) -> bool {
        let counted = self.results.iter().filter(|it| self.is_graded(it));
        let unknown = counted.filter(|it| !self.is_expected(it));
        let unknown: Vec<_> = unknown.cloned().collect();
        let is_good = match unknown.as_slice() {
            // Every check that ran is a known failure, or does not count.
            [] => !self.results.is_empty(),
            unknown => Grade::of(unknown).is_good(),
        };
        let is_worse = self.compared.as_ref().is_some_and(|it| it.is_worse);
        is_good && !is_worse && self.unexpected_passes().is_empty()
    }

    /// Whether the examiner itself failed somewhere.
    pub fn has_harness_failure(&self) -> bool {
        self.count(Verdict::Harness) > 0
    }

    /// The plain sign-in to compare this result with.
    fn good_for(&self, result: &CheckResult) -> Option<&[TranscriptLine]> {
        let wanted = |(flow, _): &&(Flow, _)| result.flow.is_none_or(|its| its == *flow);
        let found = self.good.iter().find(wanted);
        found.map(|(_, transcript)| transcript.as_slice())
    }
}

/// The grade of these results: what was not tried makes A at best.
fn grade(results: &[CheckResult], preflight: &[PreflightStep]) -> Grade {
    match preflight.iter().any(PreflightStep::is_untried) {
        true => Grade::of(results).min(Grade::A),
        false => Grade::of(results),
    }
}

/// The requirements of ASVS 5.0 that apply to consumers, by their numbers.
pub(super) struct AsvsCoverage {
    /// Tried by a check that ran.
    pub(super) tried: Vec<&'static str>,
    /// Not to be seen from outside.
    pub(super) unseen: Vec<&'static str>,
    /// The number that applies.
    pub(super) applicable: usize,
}

impl Report {
    /// The share of the standard that was tried.
    pub(super) fn asvs(&self) -> AsvsCoverage {
        let requirements = catalogue::asvs();
        let is_tried = |id: &str| {
            let law = format!("ASVS {id}");
            let ran = |verdict| matches!(verdict, Verdict::Pass | Verdict::Fail);
            let mut results = self.results.iter();
            results.any(|it| ran(it.verdict) && it.check.law.contains(&law))
        };
        let tried = requirements.iter().filter(|it| is_tried(&it.id));
        let unseen = requirements.iter().filter(|it| !it.seen);
        AsvsCoverage {
            tried: tried.map(|it| it.id.as_str()).collect(),
            unseen: unseen.map(|it| it.id.as_str()).collect(),
            applicable: requirements.len(),
        }
    }
}

impl AsvsCoverage {
    /// The numbers of requirements, without their names.
    pub(super) fn counts(&self) -> String {
        format!(
            "ASVS 5.0: {} of {} requirements that apply were tried; {} cannot be seen from outside",
            self.tried.len(),
            self.applicable,
            self.unseen.len()
        )
    }

    /// The counts, and the names of what cannot be seen.
    pub(super) fn sentence(&self) -> String {
        format!("{}: {}.", self.counts(), self.unseen.join(", "))
    }
}

/// The text with `\u{fffd}` for every control character, and for the characters that
/// change the direction of what follows.
pub(crate) fn printable(text: &str) -> String {
    let is_bidirectional = |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_noncharacter = |c: char| matches!(c, '\u{fffe}'..='\u{ffff}');
    text.chars()
        .map(|c| match c {
            _ if c.is_control() || is_bidirectional(c) || is_noncharacter(c) => '\u{fffd}',
            _ => c,
        })
        .collect()
}

/// The lines of a transcript, made harmless.
fn printable_transcript(transcript: &mut [TranscriptLine]) {
    for line in transcript {
        for text in [&mut line.from, &mut line.to, &mut line.what] {
            *text = printable(text);
        }
    }
}
