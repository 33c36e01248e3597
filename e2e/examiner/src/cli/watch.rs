//! `--watch`: examines, then repeats what was red whenever a file changes.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use super::changes::Changes;
use super::run::{
    FAILED, Interruption, error_text, examine_shown, files_of, print, status_of, write_files,
};
use super::settings::Settings;
use crate::report::Report;
use crate::{CheckResult, ExaminationPlan};

/// Examines the app in rounds until Ctrl-C, and returns the status of the last one.
///
/// # Errors
///
/// If the settings are wrong, or there is no current folder.
pub(super) async fn run(settings: &Settings) -> Result<ExitCode, String> {
    let plan = settings.plan()?;
    let folder = std::env::current_dir().map_err(|error| format!("--watch: {error}"))?;
    let mut written: Vec<_> = files_of(settings)
        .map(|(_, path, _)| path.to_path_buf())
        .collect();
    written.extend(plan.log.iter().cloned());
    let mut watch = Watch {
        settings,
        changes: Changes::below(&folder, &written),
        plan,
        report: None,
        status: FAILED.into(),
    };
    watch.rounds(&Interruption::listen()).await?;
    Ok(watch.status)
}

struct Watch<'a> {
    settings: &'a Settings,
    changes: Changes,
    plan: ExaminationPlan,
    /// The results so far: those of a round replace older ones.
    report: Option<Report>,
    status: ExitCode,
}

impl Watch<'_> {
    /// Examines until an interruption.
    async fn rounds(&mut self, interruption: &Interruption) -> Result<(), String> {
        let mut changed = BTreeSet::new();
        loop {
            match examine_shown(&self.next_plan(), interruption).await {
                Ok(Some(report)) => self.take(report, &changed)?,
                Ok(None) => return Ok(()),
                // An app that does not even start: the next change may mend it.
                Err(error) => {
                    self.status = FAILED.into();
                    say(&format!("{}{}", after(&changed), error_text(&error)));
                }
            }
            changed = tokio::select! {
                biased;
                () = interruption.wait() => return Ok(()),
                changed = self.changes.next() => changed,
            };
        }
    }

    /// The plan of the next round: what was red, or everything.
    fn next_plan(&self) -> ExaminationPlan {
        let red = self.report.as_ref().map_or_else(BTreeSet::new, red);
        let only = if red.is_empty() {
            self.plan.only.clone()
        } else {
            red.into_iter().collect()
        };
        ExaminationPlan {
            only,
            ..self.plan.clone()
        }
    }

    fn take(&mut self, newer: Report, changed: &BTreeSet<PathBuf>) -> Result<(), String> {
        let report = match self.report.take() {
            None => {
                print(&newer.text())?;
                say("Waiting for a change of a file; Ctrl-C ends.");
                newer
            }
            Some(older) => {
                let before = red(&older);
                let report = older.updated(newer);
                say(&line(changed, &before, &report));
                report
            }
        };
        write_files(self.settings, &report)?;
        self.status = status_of(&report);
        self.report = Some(report);
        Ok(())
    }
}

/// The checks that are red, except for known failures.
fn red(report: &Report) -> BTreeSet<String> {
    let findings = report.findings().into_iter();
    let unknown = findings.filter(|it: &&CheckResult| !report.is_expected(it));
    unknown.map(|it| it.check.id.clone()).collect()
}

/// A round in one line: the change, what is mended, what is new.
fn line(changed: &BTreeSet<PathBuf>, before: &BTreeSet<String>, report: &Report) -> String {
    let now = red(report);
    let named = |label: &str, ids: Vec<&String>| {
        let ids: Vec<&str> = ids.into_iter().map(String::as_str).collect();
        (!ids.is_empty()).then(|| format!("{label} {}", ids.join(", ")))
    };
    let parts = [
        named("mended", before.difference(&now).collect()),
        named("new", now.difference(before).collect()),
        named("still red", now.intersection(before).collect()),
    ];
    let mut parts: Vec<_> = parts.into_iter().flatten().collect();
    if now.is_empty() {
        parts.push("nothing is red, the next change repeats everything".to_owned());
    }
    let grade = report.grade.as_str();
    format!("{}{}. Grade {grade}.", after(changed), parts.join("; "))
}

/// The change that a round follows; of many files the first.
fn after(changed: &BTreeSet<PathBuf>) -> String {
    match (changed.first(), changed.len()) {
        (None, _) => String::new(),
        (Some(file), 1) => format!("{} changed: ", file.display()),
        (Some(file), number) => format!("{} and {} more changed: ", file.display(), number - 1),
    }
}

/// A line for the person who watches; a closed terminal is no error.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report_of;
    use crate::verdict::Verdict::{Fail, Harness, Pass};

    #[track_caller]
    fn check_line(
        files: &[&str],
        before: &[&str],
        after: &[(&str, crate::verdict::Verdict)],
        expected: &str,
    ) {
        let files = files.iter().map(Into::into).collect();
        let before = before.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(line(&files, &before, &report_of(after)), expected);
    }

    #[test]
    fn a_line_says_what_changed_what_is_mended_and_what_is_new() {
        check_line(
            &["app.py", "page.html", "view.py"],
            &["pkce", "state-checked"],
            &[("pkce", Pass), ("state-checked", Fail), ("key-fresh", Fail)],
            "app.py and 2 more changed: mended pkce; new key-fresh; still red state-checked. Grade B.",
        );
        check_line(
            &["app.py"],
            &["pkce"],
            &[("pkce", Pass)],
            "app.py changed: mended pkce; nothing is red, the next change repeats everything. Grade A+.",
        );
    }

    #[test]
    fn a_known_failure_is_not_repeated_and_a_failure_of_the_examiner_is() {
        let mut report = report_of(&[
            ("pkce", Fail),
            ("key-fresh", Harness),
            ("state-checked", Fail),
        ]);
        report.expected = vec!["pkce".to_owned()];
        let expected: BTreeSet<_> = ["key-fresh", "state-checked"].map(String::from).into();
        assert_eq!(red(&report), expected);
    }
}
