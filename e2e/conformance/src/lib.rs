//! Holds any broker against the contract, from outside.
//!
//! A run sends raw JSON, drives a browser where one is needed, and gives each
//! requirement a verdict, with what was sent and what came back. It knows no type
//! of the broker's, so that it is as hard on ours as on anybody's.
//!
//! | module | what lives there |
//! |---|---|
//! | [`plan`] | what is tested, and with what |
//! | [`requirement`] | the requirements of version 0.1.0, as one table |
//! | [`verdict`] | what becomes of a requirement |
//! | [`report`] | all verdicts, as a table, as JSON, as JUnit's XML |
//! | [`browser`] | who takes the browser's part |
//! | [`control`] | what a stack's control address does for a run |
//! | `preflight` | whether there is a broker at all, before any verdict |
//! | `run`, `http`, `mask`, `expect` | sending, masking, judging |
//! | `scenario` | the logins that are played, one file each |
//!
//! # Manners
//!
//! A run sends one request after another, waits for each at most [`http::PATIENCE`]
//! and sends at most [`http::MOST_REQUESTS`]. It calls the given addresses, and
//! in the browser's part wherever the broker sends it, and nothing else.

pub mod browser;
pub mod control;
pub mod http;
pub mod plan;
pub mod report;
pub mod requirement;
pub mod verdict;

mod expect;
mod mask;
mod preflight;
mod random;
mod run;
mod scenario;

pub use plan::{Expiry, Plan, Project};
pub use preflight::Unfit;
pub use report::Report;
pub use requirement::{Law, Requirement};
pub use verdict::{Finding, Verdict};

use run::Run;

/// The version of the contract, and of the set of requirements.
pub const VERSION: &str = "0.1.0";

/// Plays every scenario against the broker of `plan`; `tell` hears what is being
/// done.
///
/// # Errors
///
/// When there is nothing to judge: nobody answers, it is no broker, or it does not
/// know the project.
pub async fn run(plan: &Plan, tell: &mut dyn FnMut(&str)) -> Result<Report, Unfit> {
    let mut run = Run::new(plan, tell)?;
    preflight::check(&mut run).await?;
    scenario::play_all(&mut run).await;
    Ok(run.into_report())
}
