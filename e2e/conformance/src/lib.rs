//! Tests any sign-in broker against the contract, from outside.
//!
//! A run sends raw JSON, drives a browser where one is needed, and gives each
//! requirement a verdict, with what was sent and what came back. It links no crate of
//! this kit but `agent`, which knows no broker either, so it is as strict with the kit's
//! broker as with any other.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line of the program: flags and environment, made into a plan |
//! | `scenario` | the check that there is a broker, and the logins that a run plays, as one table |
//! | `run` | the plan, and the state that the scenarios share |
//! | `expect` | pure checks of a response |
//! | `race` | the connections of the races, and what was found in each |
//! | [`browser`] | the browsers that a run can use |
//! | `project` | the backend that the run plays, and the users that it queues |
//! | [`report`] | all verdicts, as a table, as JSON, as JUnit's XML |
//! | [`http`], `mask` | raw HTTP, masked secrets |
//! | [`verdict`] | the verdicts on the requirements |
//! | [`requirement`] | the requirements of version 0.1.0 |
//!
//! Each module imports only from those below it.
//!
//! # Limits
//!
//! A run sends one request after another, waits [`http::RESPONSE_TIMEOUT`] for each
//! response and sends at most [`http::MAX_REQUESTS`]; with races it sends many at once, and
//! at most [`MAX_RACE_REQUESTS`] more. It calls the given addresses, and in the browser
//! wherever the broker redirects to, and nothing else.

pub mod browser;
pub mod cli;
pub mod http;
pub mod report;
pub mod requirement;
pub mod verdict;

mod expect;
mod mask;
mod project;
mod race;
mod run;
mod scenario;

pub use project::TestProject;
pub use race::{MAX_RACE_REQUESTS, RacePlan};
pub use report::ConformanceReport;
pub use requirement::{Law, Requirement, VERSION};
pub use run::{Expiry, TestPlan};
pub use verdict::{NotTestable, RequirementResult, Verdict};

use run::Run;

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
    run_some(plan, Requirement::ALL, progress).await
}

/// Plays the scenarios that cover one of `requirements`.
///
/// # Errors
///
/// As [`run`].
pub async fn run_some(
    plan: &TestPlan,
    requirements: &[Requirement],
    progress: &mut dyn FnMut(&str),
) -> Result<ConformanceReport, NotTestable> {
    let mut run = Run::new(plan, requirements, progress)?;
    scenario::check_broker(&mut run).await?;
    let has_races = run.open_races().await?;
    scenario::play_all(&mut run).await;
    if has_races {
        scenario::play_races(&mut run).await;
    }
    Ok(run.into_report())
}
