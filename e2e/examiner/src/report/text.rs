//! The report for a terminal.

use std::fmt::{Result, Write as _};

use textwrap::Options;

use super::Report;
use super::fix::Language;
use crate::result::CheckResult;
use crate::verdict::Verdict;

/// The width of the lines, except for code and commands, which are copied as they are.
const COLUMNS: usize = 100;

impl Report {
    /// The report as text: the failures, the worst first, then one line for each other
    /// check, the grade, and what to fix first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) -> Result {
        let flow = match self.flow {
            "both" => "both flows".to_owned(),
            flow => format!("{flow} flow"),
        };
        writeln!(text, "{}  {flow}", self.target)?;
        for step in &self.preflight {
            write_item(text, &format!("  {:<11}", step.step), &step.says)?;
        }
        for result in self.findings() {
            self.write_finding(text, result)?;
        }
        writeln!(text)?;
        for verdict in [Verdict::NotTested, Verdict::NotApplicable, Verdict::Pass] {
            for result in self.with(verdict) {
                write_line(text, result)?;
            }
        }
        self.write_end(text)?;
        self.write_fix(text)?;
        match &self.compared {
            Some(compared) => write!(text, "\n{}", compared.text),
            None => Ok(()),
        }
    }

    fn write_finding(&self, text: &mut String, result: &CheckResult) -> Result {
        let check = result.check;
        let mut about = vec![check.severity.as_str().to_owned()];
        about.extend(result.flow.map(|flow| format!("{} flow", flow.as_str())));
        if self.is_expected(result) {
            about.push("known failure".to_owned());
        }
        if !self.is_graded(result) {
            about.push(format!("since {}, does not count", check.since));
        }
        let label = result.verdict.label();
        writeln!(text, "\n{label} {} ({})", check.id, about.join(", "))?;
        write_item(text, "  what happened  ", &result.actual)?;
        if result.verdict.is_red() && !self.is_expected(result) {
            write_item(text, "  expected       ", &check.expected)?;
            write_item(text, "  consequence    ", &result.consequence())?;
            write_item(text, "  law            ", &check.law.join("; "))?;
        }
        writeln!(text, "  repeat         {}", self.repeat(&check.id))
    }

    fn write_end(&self, text: &mut String) -> Result {
        for result in self.unexpected_passes() {
            let id = &result.check.id;
            writeln!(text, "\n{id} passes: remove it from `expect`.")?;
        }
        let (title, meaning) = (self.title(), self.meaning());
        writeln!(text)?;
        write_item(text, "", &format!("{title}. {meaning}"))?;
        let counts = self.counts().into_iter();
        let counts: Vec<_> = counts
            .map(|(count, verdict)| format!("{count} {}", verdict.label()))
            .collect();
        writeln!(text, "{}.", counts.join(", "))?;
        if let Some(waits) = self.waits() {
            write_item(text, "", &waits)?;
        }
        let asvs = self.asvs().counts();
        write_item(text, "", &format!("{asvs} (--html has their numbers)."))?;
        write_item(text, "", &self.origin.sentence())
    }

    fn write_fix(&self, text: &mut String) -> Result {
        let Some(first) = self.fix_first() else {
            return Ok(());
        };
        writeln!(text)?;
        if first.is_end_of_app {
            return write_item(text, "", &format!("Fix this first: {}", first.to_mend()));
        }
        let (id, to_mend) = (&first.check.id, first.to_mend());
        write_item(text, "", &format!("Fix this first: {id}. {to_mend}"))?;
        writeln!(text)?;
        write_item(text, "", &first.check.fix.change)?;
        writeln!(text)?;
        let language = Language::of_command(&self.command);
        for line in language.code(&first.check.fix).lines() {
            writeln!(text, "{}", format!("    {line}").trim_end())?;
        }
        let language = language.name;
        writeln!(text)?;
        writeln!(text, "(In {language}; --html has it in each language.)")
    }
}

/// A text with a label before its first line, and indented by as much below.
fn write_item(text: &mut String, label: &str, says: &str) -> Result {
    let indent = " ".repeat(label.chars().count());
    let options = Options::new(COLUMNS)
        .initial_indent(label)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    writeln!(text, "{}", textwrap::fill(says, options))
}

/// A check that needs no change: one line for a pass, the reason for each other verdict.
fn write_line(text: &mut String, result: &CheckResult) -> Result {
    let label = format!("{:<14} {:<27} ", result.verdict.label(), result.check.id);
    match result.verdict {
        Verdict::Pass if !result.is_partial() => {
            let room = COLUMNS.saturating_sub(label.chars().count());
            writeln!(text, "{label}{}", shortened(&result.check.title, room))
        }
        _ => write_item(text, &label, &result.actual),
    }
}

/// The text, cut to this number of characters.
fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let start: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}\u{2026}", start.trim_end())
}
