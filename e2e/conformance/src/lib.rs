//! Tests any sign-in broker against the contract, from outside.
//!
//! A run sends raw JSON, drives a browser where one is needed, and gives each
//! requirement a verdict, with what was sent and what came back. It links no crate of
//! this kit, so it is as strict with the kit's broker as with any other.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line of the program: flags and environment, made into a plan |
//! | [`plan`] | the broker under test, the projects, the browser |
//! | [`requirement`] | the requirements of version 0.1.0 |
//! | [`verdict`] | the verdicts on a requirement |
//! | [`report`] | all verdicts, as a table, as JSON, as JUnit's XML |
//! | [`browser`] | the browsers that a run can use |
//! | [`control`] | the control address of a stack |
//! | `preflight` | the check that there is a broker, before any verdict |
//! | `scenario` | the logins that a run plays, one file each |
//! | `run` | the state that the scenarios share |
//! | `project`, `users` | the backend that the run plays, and the users that it queues |
//! | `expect`, `http`, `mask` | pure checks, raw HTTP, masked secrets |
//! | `address`, `random` | the form of a URL, random secrets |
//! | `error` | the reasons for which a run ends early |
//!
//! Each module imports only from those below it: `cli` from all, `scenario` and `preflight` from
//! `run`, `run` from `plan` and `report`, these from `browser`, `control` and
//! `verdict`, and all of them from `http`, `mask` and `error`.
//!
//! # Limits
//!
//! A run sends one request after another, waits [`http::RESPONSE_TIMEOUT`] for each
//! response and sends at most [`http::MAX_REQUESTS`]. It calls the given addresses, and
//! in the browser wherever the broker redirects to, and nothing else.

pub mod browser;
pub mod cli;
pub mod control;
pub mod http;
pub mod plan;
pub mod report;
pub mod requirement;
pub mod verdict;

mod address;
mod error;
mod expect;
mod mask;
mod preflight;
mod project;
mod random;
mod run;
mod scenario;
mod users;

pub use error::NotTestable;
pub use plan::{Expiry, TestPlan};
pub use project::TestProject;
pub use report::ConformanceReport;
pub use requirement::{Law, Requirement};
pub use verdict::{RequirementResult, Verdict};

use run::Run;

/// The version of the contract, and of the set of requirements.
pub const VERSION: &str = "0.1.0";

/// Plays every scenario against the broker of `plan`, and calls `progress` before each.
///
/// # Errors
///
/// If there is nothing to test: no server answers, it is no broker, or it does not
/// know the project.
pub async fn run(
    plan: &TestPlan,
    progress: &mut dyn FnMut(&str),
) -> Result<ConformanceReport, NotTestable> {
    let mut run = Run::new(plan, progress)?;
    preflight::check(&mut run).await?;
    scenario::play_all(&mut run).await;
    Ok(run.into_report())
}
