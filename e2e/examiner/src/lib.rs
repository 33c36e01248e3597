//! Grades consumers of the service: *is my application, as it runs, a correct and safe
//! consumer, and if not, what exactly happens to my users and what do I change?*
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line: flags and `examine.toml`, made into a plan |
//! | [`plan`], [`share`] | the plan of an examination, and what the instances of an app share |
//! | [`examination`] | preflight, checks, results |
//! | [`catalogue`] | every check with its law, its consequence and its fix |
//! | [`result`], [`verdict`] | the result of a check, the grade, and the verdicts that it follows from |
//! | [`app`] | the app, as far as it was learnt |
//! | [`transcript`] | the exchanges of a trial, which are its evidence |
//! | [`report`] | the report: as text, HTML, JSON, JUnit's XML, Markdown |
//! | `checks` | the steps of each check |
//! | `learn` | what the examiner finds out about the app |
//! | [`fault`], [`practice`] | small changes that break a good consumer, and the exercises that are made of them |
//! | [`storm`] | fifty people at once while everything goes wrong, judged by ground truth |
//! | `trial`, `user`, `chromium_user` | the steps of people and attackers, of which checks are made |
//! | `testbed`, `app_process` | a stack and a copy of the app, for one check at a time; its log files |
//! | `balancer` | a balancer in front of two instances of the app |
//! | `browser` | the agent's browser, recorded |
//! | `chromium` | a real browser, for what only that shows |
//! | `foreign_site` | a site of the attacker's |
//! | `calls` | the broker's side |
//! | `search` | the search for secrets |
//!
//! # Limits
//!
//! Only an app on this machine is examined, and only against a stack of this kit.

pub mod app;
pub mod catalogue;
pub mod cli;
pub mod examination;
pub mod fault;
pub mod plan;
pub mod practice;
pub mod report;
pub mod result;
pub mod share;
pub mod storm;
pub mod transcript;
pub mod verdict;

mod app_process;
mod balancer;
mod browser;
mod calls;
mod checks;
mod chromium;
mod chromium_user;
mod foreign_site;
mod learn;
mod search;
mod testbed;
mod trial;
mod user;

use agent::{control, random, time};

pub use chromium::{ChromeDriver, ChromiumSettings};
pub use examination::{Progress, examine};
pub use learn::PreflightStep;
pub use plan::ExaminationPlan;
pub use report::Report;
pub use result::CheckResult;
