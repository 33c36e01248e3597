//! The report of a run: the verdicts, the conclusion, and three ways to write them.

use std::fmt::Write as _;

use askama::Template;
use serde_json::{Map, Value, json};

use super::race::RaceRecord;
use super::requirement::VERSION;
use super::verdict::{RequirementResult, Verdict};

/// The verdicts of a run, without secrets.
#[derive(Debug, Clone)]
pub struct ConformanceReport {
    /// The address of the broker under test.
    pub broker: String,
    /// The number of requests to the broker, and to where it redirected the browser.
    pub requests: usize,
    /// One for each requirement, in their order.
    pub results: Vec<RequirementResult>,
    /// The errors of the harness.
    pub harness_errors: Vec<String>,
    /// The races, if there were any.
    pub races: Vec<RaceRecord>,
}

/// The conclusion from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// No requirement is broken.
    Conformant,
    /// At least one requirement is broken.
    NonConformant,
    /// None is known to be broken, but the harness had errors.
    Inconclusive,
}

/// JUnit's XML. An unspecified requirement passes there, with a note.
#[derive(Template)]
#[template(path = "junit.xml", escape = "html")]
struct JUnit<'a>(&'a ConformanceReport);

impl ConformanceReport {
    /// The conclusion.
    pub fn conclusion(&self) -> Conclusion {
        if self.count(Verdict::Fail) > 0 {
            Conclusion::NonConformant
        } else if self.count(Verdict::Harness) > 0 || !self.harness_errors.is_empty() {
            Conclusion::Inconclusive
        } else {
            Conclusion::Conformant
        }
    }

    /// Each label with the number of requirements that have it.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let verdicts = Verdict::ALL.into_iter();
        verdicts.map(|it| (it.label(), self.count(it))).collect()
    }

    fn count(&self, verdict: Verdict) -> usize {
        let has_it = |it: &&RequirementResult| it.verdict == verdict;
        self.results.iter().filter(has_it).count()
    }

    /// The report for readers: a line for each requirement, and below those that did not
    /// pass the reason and the exchange.
    pub fn table(&self) -> String {
        let mut table: String = self.results.iter().map(RequirementResult::lines).collect();
        let counts = self.counts().into_iter();
        let counts: Vec<_> = counts.map(|(label, n)| format!("{n} {label}")).collect();
        let _ = writeln!(
            table,
            "\n{} against the contract {VERSION}, in {} requests: {}",
            self.broker,
            self.requests,
            counts.join(", ")
        );
        for race in &self.races {
            let _ = writeln!(table, "Race for {:<32}{}", race.name, race.summary());
        }
        for error in &self.harness_errors {
            let _ = writeln!(table, "Harness error: {error}");
        }
        table
    }

    /// The report for programs.
    pub fn json(&self) -> String {
        let counts = self.counts().into_iter();
        let counts: Map<_, _> = counts.map(|(label, n)| (label.into(), n.into())).collect();
        let requirements = self.results.iter().map(RequirementResult::json);
        let mut report = json!({
            "version": VERSION,
            "broker": self.broker,
            "requests": self.requests,
            "counts": counts,
            "troubles": self.harness_errors,
            "requirements": requirements.collect::<Vec<_>>(),
        });
        if !self.races.is_empty() {
            report["races"] = self.races.iter().map(RaceRecord::json).collect();
        }
        format!("{report:#}\n")
    }

    /// The report for build servers.
    pub fn junit(&self) -> String {
        JUnit(self)
            .render()
            .expect("the template only writes strings")
    }
}

impl RequirementResult {
    fn lines(&self) -> String {
        let (requirement, verdict) = (self.requirement, self.verdict);
        let mut lines = format!(
            "{:<12} {:<28} {}\n",
            verdict.label(),
            requirement.id(),
            requirement.sentence(),
        );
        if verdict == Verdict::Pass {
            return lines;
        }
        let mut detail = |label: &str, text: &str| {
            let _ = writeln!(lines, "             {label:<9}{text}");
        };
        detail("law", &requirement.law().to_string());
        detail("reason", &self.reason);
        if matches!(verdict, Verdict::Fail | Verdict::Unspecified) {
            detail("advice", requirement.advice());
        }
        if let Some(evidence) = &self.evidence {
            detail("sent", &evidence.sent);
            detail("received", &evidence.received);
        }
        lines
    }

    fn json(&self) -> Value {
        let mut members = json!({
            "id": self.requirement.id(),
            "source": self.requirement.law().to_string(),
            "sentence": self.requirement.sentence(),
            "verdict": self.verdict.label(),
        });
        if self.verdict != Verdict::Pass {
            members["why"] = self.reason.as_str().into();
        }
        if let Some(evidence) = &self.evidence {
            members["sent"] = evidence.sent.as_str().into();
            members["came"] = evidence.received.as_str().into();
        }
        members
    }
}
