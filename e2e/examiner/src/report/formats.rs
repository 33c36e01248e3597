//! The report for machines and for pages: as one HTML file, which fetches nothing and needs
//! no script; as Markdown, for a pull request; as JSON, schema 1; as JUnit's XML, for a CI
//! that shows tests.

use askama::Template;
use serde_json::json;
use stack::sequence_diagram;

use super::fix::{LANGUAGES, Language};
use super::{AsvsCoverage, Report, run};
use crate::result::{CheckResult, Grade};
use crate::verdict::Verdict;

#[derive(Template)]
#[template(path = "report.html")]
struct Html<'a> {
    report: &'a Report,
    /// That of the diagrams, and that of the page.
    styles: [&'static str; 2],
    language: &'static Language,
    findings: Vec<&'a CheckResult>,
    lists: [(&'static str, Vec<&'a CheckResult>); 3],
    asvs: AsvsCoverage,
}

impl Report {
    /// The report as an HTML page.
    pub fn html(&self) -> String {
        let html = Html {
            report: self,
            styles: [
                sequence_diagram::STYLE,
                include_str!("../../static/report.css"),
            ],
            language: Language::of_command(&self.command),
            findings: self.findings(),
            lists: [
                ("Not tested", self.with(Verdict::NotTested)),
                ("Passed", self.with(Verdict::Pass)),
                ("Not applicable", self.with(Verdict::NotApplicable)),
            ],
            asvs: self.asvs(),
        };
        html.render().unwrap_or_else(|error| error.to_string())
    }

    /// The diagram of the run of a check.
    fn diagram(&self, result: &CheckResult) -> String {
        run::draw(&format!("The run of {}", result.check.id), &result.evidence)
    }

    /// The diagram of the good sign-in to compare that with.
    fn good_diagram(&self, result: &CheckResult) -> Option<String> {
        let good = self.good_for(result)?;
        Some(run::draw("A good sign-in", good))
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

#[derive(Template)]
#[template(path = "report.md", escape = "none")]
struct Markdown<'a> {
    report: &'a Report,
    findings: Vec<&'a CheckResult>,
    asvs: String,
    language: &'static Language,
}

impl Report {
    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let markdown = Markdown {
            report: self,
            findings: self.findings(),
            asvs: self.asvs().sentence(),
            language: Language::of_command(&self.command),
        };
        markdown.render().unwrap_or_else(|error| error.to_string())
    }

    fn others(&self) -> Vec<&CheckResult> {
        let verdicts = [Verdict::NotTested, Verdict::NotApplicable, Verdict::Pass];
        verdicts.into_iter().flat_map(|it| self.with(it)).collect()
    }
}

/// A text in which nothing is markup, in one line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain.push_str("&lt;"),
            '&' => plain.push_str("&amp;"),
            '\n' => plain.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => plain.extend(['\\', c]),
            // Neither mentions a person nor links to an issue.
            '@' | '#' => plain.extend([c, '\u{2060}']),
            c => plain.push(c),
        }
    }
    plain
}

/// A text as code within a line, whatever backticks it contains.
fn code_span(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    let fence = "`".repeat(longest_run(text) + 1);
    if text.starts_with('`') || text.ends_with('`') {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

/// The exchanges of a run, in a block of their own.
fn transcript(result: &CheckResult) -> String {
    let lines = result.evidence.iter().map(|it| {
        let sign = if it.is_wrong { '\u{2717}' } else { ' ' };
        format!("{sign} {} to {}: {}\n", it.from, it.to, it.what)
    });
    let lines: String = lines.collect();
    let fence = "`".repeat(longest_run(&lines).max(2) + 1);
    format!("{fence}text\n{lines}{fence}")
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

impl Report {
    /// The report as JSON, with a newline at its end.
    pub fn json(&self) -> String {
        let language = Language::of_command(&self.command);
        let checks = self.results.iter().map(|result| {
            let check = result.check;
            json!({
                "id": check.id,
                "title": check.title,
                "since": check.since,
                "severity": check.severity,
                "verdict": result.verdict,
                "expected": check.expected,
                "actual": result.actual,
                "consequence": result.consequence(),
                "fix": {
                    "change": check.fix.change,
                    "language": language.name,
                    "code": language.code(&check.fix),
                },
                "law": check.law,
                "evidence": result.evidence,
                "repeat": self.repeat(&check.id),
            })
        });
        let untested = self.with(Verdict::NotTested).into_iter();
        let untested: Vec<_> = untested.map(|it| &it.check.id).collect();
        let origin = &self.origin;
        let (files, sha256) = origin.files.clone().unzip();
        let report = json!({
            "schema": 1,
            "target": self.target,
            "flow": self.flow,
            "grade": self.grade,
            "kit": { "version": origin.version, "commit": origin.commit },
            "catalogue": origin.catalogue,
            "examined": { "what": origin.examined, "files": files, "sha256": sha256 },
            "at": origin.at,
            "not_looked_at": { "checks": untested, "asvs": self.asvs().unseen },
            "checks": checks.collect::<Vec<_>>(),
            "preflight": self.preflight,
        });
        format!("{report:#}\n")
    }
}

#[derive(Template)]
#[template(path = "junit.xml")]
struct JUnit<'a> {
    report: &'a Report,
    failures: usize,
    errors: usize,
    skipped: usize,
    cases: Vec<(&'a CheckResult, Case)>,
}

/// The outcome of a test case: it is red if the exit status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Passed,
    Failed,
    /// A known failure that passes.
    UnexpectedPass,
    Error,
    Skipped,
}

impl Report {
    /// The report as JUnit's XML.
    pub fn junit(&self) -> String {
        let cases = self.results.iter().map(|it| (it, self.case(it)));
        let cases: Vec<_> = cases.collect();
        let count = |wanted: &[Case]| {
            let cases = cases.iter().filter(|(_, case)| wanted.contains(case));
            cases.count()
        };
        let junit = JUnit {
            report: self,
            failures: count(&[Case::Failed, Case::UnexpectedPass]),
            errors: count(&[Case::Error]),
            skipped: count(&[Case::Skipped]),
            cases,
        };
        junit.render().unwrap_or_else(|error| error.to_string())
    }

    fn case(&self, result: &CheckResult) -> Case {
        let is_excused = self.is_expected(result) || !self.is_graded(result);
        match (result.verdict, is_excused) {
            (Verdict::Pass, _) if self.is_expected(result) => Case::UnexpectedPass,
            (Verdict::Pass, _) => Case::Passed,
            (Verdict::Fail | Verdict::NotTestable, false) => Case::Failed,
            (Verdict::Fail | Verdict::NotTestable, true)
            | (Verdict::NotTested | Verdict::NotApplicable, _) => Case::Skipped,
            (Verdict::Harness, _) => Case::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_is_fenced_by_more_backticks_than_it_contains() {
        assert_eq!(code_span("a"), "`a`");
        assert_eq!(code_span("a``b"), "```a``b```");
        assert_eq!(code_span("`a"), "`` `a ``");
    }
}
