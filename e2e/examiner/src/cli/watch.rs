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
    let reports = files_of(settings).map(|(_, path, _)| path.to_path_buf());
    let written: Vec<_> = reports.chain(plan.log.iter().cloned()).collect();
    let mut changes = Changes::below(&folder, &written);
    let interruption = Interruption::listen();
    let mut changed = BTreeSet::new();
    // The results so far: those of a round replace older ones.
    let mut results = None;
    let mut status = FAILED.into();
    loop {
        match examine_shown(&next_plan(&plan, results.as_ref()), interruption.wait()).await {
            Ok(Some(newer)) => {
                let report = show_round(results, newer, &changed)?;
                write_files(settings, &report)?;
                status = status_of(&report);
                results = Some(report);
            }
            Ok(None) => return Ok(status),
            // An app that does not even start: the next change may mend it.
            Err(error) => {
                status = FAILED.into();
                say(&format!(
                    "{}{}",
                    after(&changed),
                    error_text("examine", &error)
                ));
            }
        }
        changed = tokio::select! {
            biased;
            () = interruption.wait() => return Ok(status),
            changed = changes.next() => changed,
        };
    }
}

/// The plan of the next round: what was red, or everything.
fn next_plan(plan: &ExaminationPlan, report: Option<&Report>) -> ExaminationPlan {
    let mut plan = plan.clone();
    let red = report.map(red).unwrap_or_default();
    if !red.is_empty() {
        plan.only = red.into_iter().collect();
    }
    plan
}

/// Shows a round, the first whole and each later one in a line, and returns the results of all.
fn show_round(
    older: Option<Report>,
    newer: Report,
    changed: &BTreeSet<PathBuf>,
) -> Result<Report, String> {
    let Some(older) = older else {
        print(&newer.text())?;
        say("Waiting for a change of a file; Ctrl-C ends.");
        return Ok(newer);
    };
    let before = red(&older);
    let report = older.updated(newer);
    say(&line(changed, &before, &report));
    Ok(report)
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
    let (changed, title) = (after(changed), report.title());
    format!("{changed}{}. {title}.", parts.join("; "))
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

    #[test]
    fn a_line_says_what_changed_what_is_mended_and_what_is_new() {
        // Of what is known to fail nothing is said, but of a failure of the examiner.
        let mut known = report_of(&[("pkce", Fail), ("key-fresh", Harness)]);
        known.expected = vec!["pkce".to_owned()];
        for (files, before, report, expected) in [
            (
                "app.py page.html view.py",
                "pkce state-checked",
                report_of(&[("pkce", Pass), ("state-checked", Fail), ("key-fresh", Fail)]),
                "app.py and 2 more changed: mended pkce; new key-fresh; still red state-checked. Grade B.",
            ),
            (
                "app.py",
                "pkce",
                report_of(&[("pkce", Pass)]),
                "app.py changed: mended pkce; nothing is red, the next change repeats everything. No grade.",
            ),
            (
                "app.py",
                "",
                known,
                "app.py changed: new key-fresh. Grade B.",
            ),
        ] {
            let files = files.split(' ').map(Into::into).collect();
            let before = before.split_whitespace().map(str::to_owned).collect();
            assert_eq!(line(&files, &before, &report), expected);
        }
    }
}
