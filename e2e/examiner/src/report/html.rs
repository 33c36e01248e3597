//! The report as one HTML file, which fetches nothing and needs no script.

use askama::Template;

use super::Report;
use super::asvs::AsvsCoverage;
use super::fix::{Language, OTHER_SPELLINGS};
use super::run;
use crate::catalogue::shared_names;
use crate::examination::CheckResult;
use crate::grade::Grade;
use crate::verdict::Verdict;

/// The style of the page, and of the diagrams: those have the looks of the inspector's.
const STYLE: &str = concat!(
    include_str!("../../../stack/static/diagram.css"),
    include_str!("../../static/report.css"),
);

#[derive(Template)]
#[template(path = "report.html")]
struct Html<'a> {
    report: &'a Report,
    style: &'static str,
    language: Language,
    findings: Vec<Finding<'a>>,
    lists: [(&'static str, Vec<&'a CheckResult>); 3],
    asvs: AsvsCoverage,
}

/// A card.
struct Finding<'a> {
    result: &'a CheckResult,
    is_expected: bool,
    repeat: String,
    bad: Option<String>,
    good: Option<String>,
}

impl Report {
    /// The report as an HTML page.
    pub fn html(&self) -> String {
        let findings = self.findings().into_iter();
        let html = Html {
            report: self,
            style: STYLE,
            language: Language::of_command(&self.command),
            findings: findings.map(|it| self.finding(it)).collect(),
            lists: [
                ("Not tested", self.with(Verdict::NotTested)),
                ("Passed", self.with(Verdict::Pass)),
                ("Not applicable", self.with(Verdict::NotApplicable)),
            ],
            asvs: self.asvs(),
        };
        html.render().unwrap_or_else(|error| error.to_string())
    }

    fn finding<'a>(&'a self, result: &'a CheckResult) -> Finding<'a> {
        let id = &result.check.id;
        let has_run = !result.evidence.is_empty();
        let good = self.good_for(result).filter(|_| has_run);
        Finding {
            result,
            is_expected: self.is_expected(result),
            repeat: self.repeat(id),
            bad: has_run.then(|| run::draw(&format!("The run of {id}"), &result.evidence)),
            good: good.map(|transcript| run::draw("A good sign-in", transcript)),
        }
    }

    /// The number of checks with each verdict, without those of which there is none.
    pub(super) fn counts(&self) -> Vec<(usize, Verdict)> {
        let all = Verdict::ALL.into_iter();
        let counts = all.map(|verdict| (self.count(verdict), verdict));
        counts.filter(|(count, _)| *count > 0).collect()
    }
}

impl Verdict {
    /// The class of its badge.
    fn class(self) -> &'static str {
        match self {
            Self::Fail => "bad",
            Self::NotTestable | Self::Harness => "doubtful",
            Self::Pass => "good",
            Self::NotTested | Self::NotApplicable => "neutral",
        }
    }
}

impl Grade {
    /// The class of its badge.
    fn class(self) -> &'static str {
        match self {
            Self::APlus | Self::A => "good",
            Self::B => "doubtful",
            Self::C | Self::F => "bad",
        }
    }
}
