//! The origin of a report, by which a reader trusts it: the kit that judged, the time, and the
//! app that was examined.

use agent::source_tree::digest;

use crate::catalogue::Check;
use crate::plan::ExaminationPlan;
use crate::time::unix_ms;

/// The origin of a report.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The version of the kit, as `--version` prints it.
    pub version: &'static str,
    /// The commit of its sources, if it is known.
    pub commit: Option<&'static str>,
    /// The version of the catalogue by which the grade was given.
    pub catalogue: String,
    /// Whether the app ran already, or was started.
    pub examined: &'static str,
    /// The number of its files, and their digest.
    pub files: Option<(usize, String)>,
    /// The time of the examination, in UTC: `2026-11-27T18:05:00Z`.
    pub at: String,
}

impl Origin {
    /// The origin of an examination that begins now.
    pub(crate) fn of(plan: &ExaminationPlan) -> Self {
        let here = std::env::current_dir().ok();
        let (examined, files) = match plan.command.as_slice() {
            [] => ("a running app", None),
            command => (
                "an app that the examiner started",
                here.and_then(|here| digest(&here, command, &plan.log)),
            ),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: Some(env!("KIT_COMMIT")).filter(|it| !it.is_empty()),
            catalogue: plan.catalogue.clone(),
            examined,
            files,
            at: stack::time::utc(unix_ms()),
        }
    }

    /// Whether a check counts for the grade: later ones do not.
    pub(crate) fn counts(&self, check: &Check) -> bool {
        check.since <= self.catalogue
    }

    /// The origin in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let commit = self.commit.unwrap_or("unknown");
        let files = self.files.iter();
        let files: String = files
            .map(|(files, sha256)| format!(", {files} files with the SHA-256 {sha256}"))
            .collect();
        format!(
            "Examined at {} by the kit {}, commit {commit}, and the catalogue {}: {}{files}.",
            self.at, self.version, self.catalogue, self.examined
        )
    }
}
