//! The report for a terminal.

use std::fmt::Write as _;

use super::Report;
use crate::catalogue::asvs;
use crate::examination::CheckResult;
use crate::verdict::Verdict;

impl Report {
    /// The report as text: failures with what to change, then one line for each check.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "{}  {} flow", self.target, self.flow)?;
        for step in &self.preflight {
            writeln!(text, "  {:<10} {}", step.step, step.says)?;
        }
        for result in self
            .results
            .iter()
            .filter(|it| it.verdict.is_red() || it.verdict == Verdict::Harness)
        {
            self.write_finding(text, result)?;
        }
        writeln!(text)?;
        for result in &self.results {
            let reason = match result.verdict {
                Verdict::NotApplicable | Verdict::NotTested => format!(": {}", result.actual),
                Verdict::Pass if result.is_partial() => format!(": {}", result.actual),
                _ => String::new(),
            };
            let label = result.verdict.label();
            writeln!(
                text,
                "{label:<14} {:<28} {}{reason}",
                result.check.id, result.check.title
            )?;
        }
        self.write_end(text)
    }

    fn write_finding(&self, text: &mut String, result: &CheckResult) -> std::fmt::Result {
        let check = result.check;
        let flow = result
            .flow
            .map_or(String::new(), |flow| format!(", {} flow", flow.as_str()));
        writeln!(
            text,
            "\n{} {} ({}{flow})",
            result.verdict.label(),
            check.id,
            check.severity.as_str()
        )?;
        writeln!(text, "  what happened  {}", result.actual)?;
        writeln!(text, "  expected       {}", check.expected)?;
        writeln!(text, "  consequence    {}", check.consequence)?;
        writeln!(text, "  law            {}", check.law.join("; "))?;
        writeln!(text, "  repeat         {}", self.repeat(&check.id))
    }

    fn write_end(&self, text: &mut String) -> std::fmt::Result {
        for result in self.unexpected_passes() {
            writeln!(
                text,
                "\n{} passes: remove it from `expect`.",
                result.check.id
            )?;
        }
        let counts: Vec<_> = Verdict::ALL
            .into_iter()
            .filter(|verdict| self.count(*verdict) > 0)
            .map(|verdict| format!("{} {}", self.count(verdict), verdict.label()))
            .collect();
        writeln!(
            text,
            "\nGrade {}. {}",
            self.grade.as_str(),
            self.grade.meaning()
        )?;
        writeln!(text, "{}.", counts.join(", "))?;
        let untested = self.untested();
        if !untested.is_empty() {
            writeln!(
                text,
                "The grade leaves out what was not tested: {}.",
                untested.join(", ")
            )?;
        }
        writeln!(text, "{}", self.asvs_line())?;
        if let Some(first) = self.fix_first() {
            writeln!(
                text,
                "\nFix this first: {}. {}",
                first.check.id, first.check.title
            )?;
            for line in first.check.fix.python.trim().lines() {
                writeln!(text, "    {line}")?;
            }
            writeln!(
                text,
                "(In Python; --json, --html and --markdown have it in JavaScript and Rust, too.)"
            )?;
        }
        Ok(())
    }

    /// The checks for which a tool is missing.
    pub(super) fn untested(&self) -> Vec<&str> {
        let untested = self
            .results
            .iter()
            .filter(|it| it.verdict == Verdict::NotTested);
        untested.map(|it| it.check.id.as_str()).collect()
    }

    /// How much of the standard was tried.
    pub(super) fn asvs_line(&self) -> String {
        let tried = |id: &str| {
            let law = format!("ASVS {id}");
            let ran = self
                .results
                .iter()
                .filter(|it| matches!(it.verdict, Verdict::Pass | Verdict::Fail));
            ran.into_iter().any(|it| it.check.law.contains(&law))
        };
        let number = asvs().iter().filter(|it| tried(&it.id)).count();
        let unseen: Vec<_> = asvs()
            .iter()
            .filter(|it| !it.seen)
            .map(|it| it.id.as_str())
            .collect();
        format!(
            "ASVS 5.0: {number} of {} requirements that apply were tried; these cannot be seen from outside: {}.",
            asvs().len(),
            unseen.join(", ")
        )
    }
}
