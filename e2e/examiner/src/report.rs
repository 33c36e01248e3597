//! The report: the grade, what to fix first, and every check with its evidence.

mod compare;
mod fix;
mod formats;
mod origin;
mod run;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use fix::{program, sources_of};
pub(crate) use formats::item;
pub(crate) use run::draw;

use std::cmp::Reverse;
use std::time::Duration;

use strum::VariantArray as _;

use crate::app::{App, Flow};
use crate::catalogue::{self, Check, Effect, Fix};
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
    /// Whether it leaves out how a finding is mended.
    hides_fix: bool,
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
            [flow] => flow.into(),
            _ => "both",
        };
        Self {
            target: plan.start.to_string(),
            flow,
            origin,
            compared: None,
            preflight,
            results,
            expected: plan.expect.clone(),
            good,
            hides_fix: plan.hides_fix,
            command: plan.command.clone(),
            flags: plan.flags(),
        }
    }

    /// The report beside an older one.
    #[must_use]
    pub fn compared_with(self, older: &OlderReport) -> Self {
        Self {
            compared: Some(Comparison::of(older, &self)),
            ..self
        }
    }

    /// This report with the results of a newer one, which repeats some of its checks.
    #[must_use]
    pub fn updated(self, newer: Self) -> Self {
        let all = [&*newer.results, &*self.results].concat();
        let latest = |check: &Check| all.iter().find(|it| it.check.id == check.id).cloned();
        Self {
            results: catalogue::checks().iter().filter_map(latest).collect(),
            ..newer
        }
    }

    /// Whether the catalogue by which it grades has the check.
    pub fn is_graded(&self, result: &CheckResult) -> bool {
        self.origin.counts(result.check)
    }

    /// The checks that count for the grade.
    fn graded(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|it| self.is_graded(it))
    }

    /// Whether the preflight left something out.
    fn has_untried(&self) -> bool {
        self.preflight.iter().any(PreflightStep::is_untried)
    }

    /// The grade of the checks that ran and count; what was not tried makes A at best.
    fn grade(&self) -> Option<Grade> {
        let grade = Grade::of(self.graded())?;
        Some(match self.has_untried() {
            true => grade.min(Grade::A),
            false => grade,
        })
    }

    /// The grade; none of a part of the checks, unless that shows how bad the whole is.
    pub fn shown_grade(&self) -> Option<Grade> {
        let is_whole = self.results.len() == catalogue::checks().len();
        self.grade().filter(|it| is_whole || !it.is_good())
    }

    /// The grade as it is written, or `none`.
    fn grade_or(&self, none: &'static str) -> &'static str {
        self.shown_grade().map_or(none, Grade::into)
    }

    /// The title of the report: `Grade A`.
    pub fn title(&self) -> String {
        let grade = self.shown_grade();
        grade.map_or("No grade".to_owned(), |it| format!("Grade {it}"))
    }

    /// The meaning of the grade, and what it leaves out.
    pub fn meaning(&self) -> String {
        let has_red = self.graded().any(|it| it.verdict.is_red());
        let meaning = match self.grade() {
            None => "No check that counts was run.",
            Some(Grade::A) if !has_red && self.count(Verdict::Pass) == 0 => "Nothing was tried.",
            Some(Grade::A) if !has_red => "Everything that was tried passes.",
            Some(Grade::A) if self.shown_grade().is_none() => "Good practice is missing in places.",
            Some(grade) => grade.meaning(),
        };
        let mut says = vec![meaning.to_owned()];
        if self.has_untried() {
            says.push("What the preflight names as untried is left out.".to_owned());
        }
        says.extend(
            match self.count(Verdict::NotTested) + self.count(Verdict::Harness) {
                0 => None,
                1 => Some("The grade leaves out the one check that was not tested.".to_owned()),
                untested => Some(format!(
                    "The grade leaves out the {untested} checks that were not tested."
                )),
            },
        );
        let (run, all) = (self.results.len(), catalogue::checks().len());
        let newer = run - self.graded().count();
        if newer > 0 {
            let catalogue = &self.origin.catalogue;
            says.push(format!(
                "Checks that came after the catalogue {catalogue} do not count: {newer}."
            ));
        }
        if run < all {
            says.push(format!("This examination ran {run} of the {all} checks."));
        }
        says.join(" ")
    }

    /// The waits and limits on which verdicts of this report rest, in sentences; none if no such
    /// check ran.
    pub fn waits(&self) -> Option<String> {
        let times = |member: fn(&Check) -> Option<u64>| {
            let times = self.tried().filter_map(|check| {
                let seconds = Duration::from_millis(member(check)?).as_secs_f64();
                Some(format!("{} ({seconds} s)", check.id))
            });
            times.collect::<Vec<_>>().join(", ")
        };
        let waits = "These checks wait, because timers of the app cannot be moved, and see nothing that happens later";
        let limits = "In these an app that needs longer fails";
        let says = [
            (waits, times(|check| check.wait_ms)),
            (limits, times(|check| check.limit_ms)),
        ];
        let says = says.iter().filter(|(_, times)| !times.is_empty());
        let mut says: Vec<_> = says
            .map(|(says, times)| format!("{says}: {times}."))
            .collect();
        if says.is_empty() {
            return None;
        }
        says.push(format!(
            "Every check that counts calls waits until the app has made none for {} s.",
            IDLE.as_secs_f64()
        ));
        Some(says.join(" "))
    }

    /// The checks that were tried.
    fn tried(&self) -> impl Iterator<Item = &'static Check> {
        let is_tried = |it: &&CheckResult| matches!(it.verdict, Verdict::Pass | Verdict::Fail);
        self.results.iter().filter(is_tried).map(|it| it.check)
    }

    /// The requirements of ASVS 5.0 that were tried, by their numbers.
    fn asvs_tried(&self) -> Vec<&'static str> {
        let laws = self.tried().flat_map(|check| &check.law);
        let laws: Vec<_> = laws.filter_map(|law| law.strip_prefix("ASVS ")).collect();
        let ids = catalogue::asvs().iter().map(|it| it.id.as_str());
        ids.filter(|id| laws.contains(id)).collect()
    }

    /// The share of ASVS that was tried, without the names of requirements.
    fn asvs_counts(&self) -> String {
        format!(
            "ASVS 5.0: {} of {} requirements that apply were tried; {} cannot be seen from outside",
            self.asvs_tried().len(),
            catalogue::asvs().len(),
            asvs_unseen().len()
        )
    }

    /// The number of checks with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.with(verdict).len()
    }

    /// The number of checks with each verdict, without those of which there is none.
    fn counts(&self) -> Vec<(usize, Verdict)> {
        let all = Verdict::VARIANTS.iter().copied();
        let counts = all.map(|verdict| (self.count(verdict), verdict));
        counts.filter(|(count, _)| *count > 0).collect()
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
                it.verdict,
                Reverse(it.is_takeover),
                it.is_server_error,
                it.check.if_broken != Effect::Attack,
                it.check.severity,
                Reverse(it.check.if_broken),
            )
        });
        findings
    }

    /// The checks that are no findings.
    fn others(&self) -> Vec<&CheckResult> {
        let verdicts = [Verdict::NotTested, Verdict::NotApplicable, Verdict::Pass];
        verdicts.into_iter().flat_map(|it| self.with(it)).collect()
    }

    /// The failure whose fix closes the worst attack.
    pub fn fix_first(&self) -> Option<&CheckResult> {
        let mut findings = self.findings().into_iter();
        findings.find(|it| it.verdict.is_red())
    }

    /// The mend of a finding, unless it is left out.
    fn fix<'c>(&self, check: &'c Check) -> Option<&'c Fix> {
        (!self.hides_fix).then_some(&check.fix)
    }

    /// The good sign-in to compare a run with.
    pub(crate) fn good_run(&self, result: &CheckResult) -> Option<&[TranscriptLine]> {
        let mut runs = self.good.iter();
        let good = runs.find(|(flow, _)| result.flow.is_none_or(|its| its == *flow));
        good.map(|(_, transcript)| &**transcript)
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
        let unknown = self.graded().filter(|it| !self.is_expected(it));
        // Every check that ran may be a known failure, or not count.
        let is_good = Grade::of(unknown).map_or(!self.results.is_empty(), Grade::is_good);
        let is_worse = self.compared.as_ref().is_some_and(|it| it.is_worse);
        is_good && !is_worse && self.unexpected_passes().is_empty()
    }

    /// Whether the examiner itself failed somewhere.
    pub fn has_harness_failure(&self) -> bool {
        self.count(Verdict::Harness) > 0
    }
}

/// The requirements of ASVS that cannot be seen from outside, by their numbers.
fn asvs_unseen() -> Vec<&'static str> {
    let unseen = catalogue::asvs().iter().filter(|it| !it.seen);
    unseen.map(|it| it.id.as_str()).collect()
}
