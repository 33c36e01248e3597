//! The examination of an app in the learner's folder.

use std::path::Path;

use stack::practice::{PracticeDiagram, PracticeRun};
use stack::sequence_diagram::Frame;
use url::Url;

use super::exercise::{Exercise, Language};
use crate::Report;
use crate::catalogue::{Instrument, checks};
use crate::chromium::ChromiumSettings;
use crate::cli::examine_shown;
use crate::plan::ExaminationPlan;
use crate::report::draw;
use crate::result::CheckResult;
use crate::share::{Share, free_port};
use crate::time::{Stopwatch, unix_ms};

/// The checks of an examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those that the app fails as it came.
    Own,
    /// All others: of an app with one fault those that need no real browser.
    Others,
}

/// The examination of one app.
pub(super) struct Judged {
    pub(super) report: Report,
    pub(super) took_ms: u64,
}

/// The plan of examining the app of `exercise` in its folder.
///
/// # Errors
///
/// If no port is free.
pub(super) fn plan(
    exercise: &Exercise,
    language: Language,
    (interpreter, app): (&[String], &Path),
    scope: Scope,
) -> Result<ExaminationPlan, String> {
    let start = format!("http://localhost:{}/", free_port()?);
    let start = Url::parse(&start).map_err(|error| error.to_string())?;
    let own = exercise.checks(language);
    // The inherited app is done at A+, which says something of every check.
    let is_whole = exercise.faults(language).len() > 1;
    let file = app.join(language.start_file()).display().to_string();
    let shared = (
        "SESSIONS_DB".to_owned(),
        "{folder}/sessions.sqlite".to_owned(),
    );
    let only = match scope {
        Scope::Own => own,
        Scope::Others => {
            let all = checks().iter().filter(|it| !own.contains(&it.id));
            let all = all.filter(|it| is_whole || it.instruments != [Instrument::Chromium]);
            all.map(|it| it.id.clone()).collect()
        }
    };
    Ok(ExaminationPlan {
        command: [interpreter, &[file]].concat(),
        share: Some(Share {
            env: [shared].into(),
            ..Share::default()
        }),
        flow: exercise.flow(language),
        chromium: match scope {
            Scope::Own if shows_in_chromium(exercise, language) => ChromiumSettings::Hidden,
            Scope::Others if is_whole => ChromiumSettings::Hidden,
            Scope::Own | Scope::Others => ChromiumSettings::Off,
        },
        only,
        hides_fix: true,
        ..ExaminationPlan::new(start)
    })
}

/// Whether a real browser is needed to see one of the faults.
fn shows_in_chromium(exercise: &Exercise, language: Language) -> bool {
    let faults = exercise.faults(language).into_iter();
    let mut needs = faults.map(|it| {
        let mut checks = it.checks();
        it.needs_chromium || checks.any(|check| check.instruments == [Instrument::Chromium])
    });
    needs.any(|it| it)
}

/// Examines, and shows the progress; none after an interruption.
pub(super) async fn judge(
    plan: &ExaminationPlan,
    interruption: impl Future<Output = ()>,
) -> Result<Option<Judged>, String> {
    let watch = Stopwatch::start();
    let report = examine_shown(plan, interruption).await?;
    Ok(report.map(|report| Judged {
        report,
        took_ms: watch.elapsed_ms(),
    }))
}

impl Judged {
    /// Whether nothing was found.
    pub(super) fn is_green(&self) -> bool {
        self.report.findings().is_empty()
    }

    /// The run as the page shows it, with the worst finding beside a good sign-in.
    pub(super) fn run(&self, says: &str) -> PracticeRun {
        let findings = self.report.findings();
        let shown = findings.first().copied().or(self.report.results.first());
        PracticeRun {
            at: stack::time::utc(unix_ms()),
            took_ms: self.took_ms,
            says: says.to_owned(),
            seen: findings.iter().map(|it| it.actual.clone()).collect(),
            is_green: self.is_green(),
            diagrams: shown.map_or_else(Vec::new, |it| self.diagrams(it)),
        }
    }

    fn diagrams(&self, result: &CheckResult) -> Vec<PracticeDiagram> {
        let good = self.report.good_run(result);
        let runs = [
            Some(("This run", &*result.evidence)),
            good.map(|it| ("A good sign-in", it)),
        ];
        let drawn = runs.into_iter().flatten().map(|(title, transcript)| {
            let lines = transcript
                .iter()
                .map(|it| format!("{} to {}: {}", it.from, it.to, it.what));
            PracticeDiagram {
                title: title.to_owned(),
                svg: draw(title, transcript, &Frame::File),
                lines: lines.collect(),
            }
        });
        drawn.collect()
    }
}
