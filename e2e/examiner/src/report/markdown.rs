//! The report as Markdown, for a pull request.

use askama::Template;

use super::Report;
use super::fix::{Language, OTHER_SPELLINGS};
use crate::catalogue::shared_names;
use crate::examination::CheckResult;
use crate::verdict::Verdict;

#[derive(Template)]
#[template(path = "report.md", escape = "none")]
struct Markdown<'a> {
    report: &'a Report,
    findings: Vec<&'a CheckResult>,
    asvs: String,
    /// The app's own language comes first.
    languages: Vec<Language>,
}

impl Report {
    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let own = Language::of_command(&self.command);
        let mut languages = Language::ALL.to_vec();
        languages.sort_by_key(|it| *it != own);
        let markdown = Markdown {
            report: self,
            findings: self.findings(),
            asvs: self.asvs().sentence(),
            languages,
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
