//! The formats of a report, each from a template: text for a terminal; one HTML file, which
//! fetches nothing and needs no script; Markdown, for a pull request; JUnit's XML, for a CI
//! that shows tests; the grade as a badge in SVG. JSON, schema 1, is for programs.

use askama::Template;
use serde_json::json;
use stack::sequence_diagram::{Frame, STYLE as DIAGRAM_STYLE, shortened};
use textwrap::{Options, WordSplitter};

use stack::sources::LANGUAGES;

use super::fix::FixLanguage as _;
use super::{Report, asvs_unseen, run};
use crate::result::{CheckResult, Grade};
use crate::verdict::Verdict;

/// The width of a terminal's lines, except for code and commands, which are copied as they are.
const COLUMNS: usize = 100;

/// The style sheet of the page.
const STYLE: &str = include_str!("../../static/report.css");

/// A report in the format of a template, with a newline at its end.
fn rendered(template: &impl Template) -> String {
    let rendered = template.render();
    rendered.expect("a template only writes strings") + "\n"
}

/// Gives the report a function for each template.
macro_rules! formats {
    ($($(#[$doc:meta])+ $name:ident: $template:ident of $path:literal, escape $escape:literal;)+) => {
        $(#[derive(Template)]
        #[template(path = $path, escape = $escape)]
        struct $template<'a>(&'a Report);)+

        impl Report {
            $($(#[$doc])+ pub fn $name(&self) -> String {
                rendered(&$template(self))
            })+
        }
    };
}

formats! {
    /// The report as text: the failures, the worst first, then one line for each other
    /// check, the grade, and what to fix first.
    text: Text of "report.txt", escape "none";
    /// The report as an HTML page.
    html: Html of "report.html", escape "html";
    /// The report as Markdown.
    markdown: Markdown of "report.md", escape "none";
    /// The report as JUnit's XML.
    junit: JUnit of "junit.xml", escape "html";
    /// The grade as a badge in SVG, which fetches nothing and has its meaning as a title.
    badge: Badge of "badge.svg", escape "html";
}

impl Report {
    /// The report as JSON, with a newline at its end.
    pub fn json(&self) -> String {
        let language = self.language();
        let checks = self.results.iter().map(|result| {
            let check = result.check;
            json!({
                "id": check.id,
                "title": check.title,
                "since": check.since,
                "severity": check.severity,
                "verdict": result.verdict.to_string(),
                "expected": check.expected,
                "actual": result.actual,
                "consequence": result.consequence(),
                "fix": self.fix(check).map(|fix| json!({
                    "change": fix.change,
                    "language": language.name,
                    "code": language.code(fix),
                })),
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
            "grade": self.shown_grade().map(|it| it.to_string()),
            "kit": { "version": origin.version, "commit": origin.commit },
            "catalogue": origin.catalogue,
            "examined": { "what": origin.examined, "files": files, "sha256": sha256 },
            "at": origin.at,
            "not_looked_at": { "checks": untested, "asvs": asvs_unseen() },
            "checks": checks.collect::<Vec<_>>(),
            "preflight": self.preflight,
        });
        format!("{report:#}\n")
    }
}

/// A text for a terminal, with a label before its first line, and indented by as much below.
pub(crate) fn item(label: impl AsRef<str>, says: impl AsRef<str>) -> String {
    let label = label.as_ref();
    let indent = " ".repeat(label.chars().count());
    let options = Options::new(COLUMNS)
        .initial_indent(label)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(says.as_ref(), options)
}

/// A check that needs no change: one line for a pass, the reason for each other verdict.
fn line(result: &CheckResult) -> String {
    let label = format!("{:<14} {:<27} ", result.verdict, result.check.id);
    match result.verdict {
        Verdict::Pass if !result.is_partial() => {
            shortened(&format!("{label}{}", result.check.title), COLUMNS)
        }
        _ => item(label, &result.actual),
    }
}

impl Report {
    /// The weight of a finding, and what else there is to know of it, in a word or two each.
    fn labels(&self, result: &CheckResult) -> Vec<String> {
        let check = result.check;
        let flow = result.flow.map(|flow| format!("{flow} flow"));
        let known = self.is_expected(result).then(|| "known failure".to_owned());
        let newer = !self.is_graded(result);
        let newer = newer.then(|| format!("since {}, does not count", check.since));
        let severity = Some(check.severity.to_string());
        let labels = [severity, flow, known, newer].into_iter();
        labels.flatten().collect()
    }

    /// The checks that are no findings, behind their headings.
    fn lists(&self) -> [(&'static str, Vec<&CheckResult>); 3] {
        [
            ("Not tested", self.with(Verdict::NotTested)),
            ("Passed", self.with(Verdict::Pass)),
            ("Not applicable", self.with(Verdict::NotApplicable)),
        ]
    }

    /// The class of the grade.
    fn class(&self) -> &'static str {
        match self.shown_grade() {
            Some(Grade::APlus | Grade::A) => "good",
            Some(Grade::B) => "doubtful",
            Some(Grade::C | Grade::F) => "bad",
            None => "neutral",
        }
    }

    /// The diagram of the run of a check.
    fn diagram(&self, result: &CheckResult) -> String {
        let title = format!("The run of {}", result.check.id);
        run::draw(&title, &result.evidence, &Frame::Figure)
    }

    /// The diagram of the good sign-in to compare that with.
    fn good_diagram(&self, result: &CheckResult) -> Option<String> {
        let good = self.good_run(result)?;
        Some(run::draw("A good sign-in", good, &Frame::Figure))
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

/// A text for Markdown in which nothing is markup, in one line.
fn plain(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
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

/// A text for Markdown as code within a line, whatever backticks it contains.
fn code_span(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    let fence = "`".repeat(longest_run(text) + 1);
    match text.starts_with('`') || text.ends_with('`') {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// The exchanges of a run, in a block of Markdown.
fn transcript(result: &CheckResult) -> String {
    let lines = result.evidence.iter().map(|it| {
        let sign = if it.is_wrong { '\u{2717}' } else { ' ' };
        format!("{sign} {} to {}: {}\n", it.from, it.to, it.what)
    });
    let lines: String = lines.collect();
    let fence = "`".repeat(longest_run(&lines).max(2) + 1);
    format!("{fence}text\n{lines}{fence}")
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// The outcome of a test case of JUnit: it is red if the exit status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Passed,
    /// Also a known failure that passes.
    Failed,
    Error,
    Skipped,
}

impl Report {
    fn case(&self, result: &CheckResult) -> Case {
        let is_excused = self.is_expected(result) || !self.is_graded(result);
        match result.verdict {
            Verdict::Pass if self.is_expected(result) => Case::Failed,
            Verdict::Pass => Case::Passed,
            Verdict::Fail | Verdict::NotTestable if !is_excused => Case::Failed,
            Verdict::Harness => Case::Error,
            _ => Case::Skipped,
        }
    }

    /// The number of such test cases.
    fn cases(&self, case: Case) -> usize {
        let results = self.results.iter();
        results.filter(|it| self.case(it) == case).count()
    }
}
