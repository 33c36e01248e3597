//! What a reader has to know to trust a report: what judged, when, and what was examined.

use serde::Serialize;

use crate::catalogue;
use crate::plan::ExaminationPlan;
use crate::source_tree::digest;
use crate::time::unix_ms;

/// The origin of a report. The fields are members of its JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// The program.
    pub kit: Kit,
    /// The version of the catalogue by which the grade was given.
    pub catalogue: String,
    /// What was examined.
    pub examined: Examined,
    /// The time of the examination, in UTC: `2026-11-27T18:05:00Z`.
    pub at: String,
}

/// The program that examined.
#[derive(Debug, Clone, Serialize)]
pub struct Kit {
    /// The version, as `--version` prints it.
    pub version: &'static str,
    /// The commit of its sources, if it is known.
    pub commit: Option<&'static str>,
}

/// What was examined.
#[derive(Debug, Clone, Serialize)]
pub struct Examined {
    /// Whether the app ran already, or by which command it was started.
    pub what: String,
    /// The number of its files.
    pub files: Option<usize>,
    /// Their digest: SHA-256 of the sorted lines that `sha256sum` prints of them.
    pub sha256: Option<String>,
}

impl Origin {
    /// The origin of an examination that begins now.
    pub(crate) fn of(plan: &ExaminationPlan) -> Self {
        let (files, sha256) = digest(&plan.command, &plan.log)
            .filter(|_| !plan.command.is_empty())
            .unzip();
        let what = match plan.command.is_empty() {
            true => "a running app",
            false => "an app that the examiner started",
        };
        Self {
            kit: Kit {
                version: env!("CARGO_PKG_VERSION"),
                commit: Some(env!("KIT_COMMIT")).filter(|it| !it.is_empty()),
            },
            catalogue: plan.catalogue.clone(),
            examined: Examined {
                what: what.to_owned(),
                files,
                sha256,
            },
            at: stack::time::utc(unix_ms()),
        }
    }

    /// Whether a check that came with this version counts for the grade.
    pub(crate) fn counts(&self, check: &catalogue::Check) -> bool {
        check.since <= self.catalogue
    }

    /// The origin in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self {
            kit,
            catalogue,
            examined,
            at,
        } = self;
        let commit = kit.commit.unwrap_or("unknown");
        let files = match (examined.files, &examined.sha256) {
            (Some(files), Some(sha256)) => format!(", {files} files with the SHA-256 {sha256}"),
            _ => String::new(),
        };
        format!(
            "Examined at {at} by the kit {}, commit {commit}, and the catalogue {catalogue}: {}{files}.",
            kit.version, examined.what
        )
    }
}
