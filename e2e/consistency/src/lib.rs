//! Single use under races, crashes and everything at once: brokers run as processes of
//! their own, and every login is checked against one model.
//!
//! The words are Jepsen's: a *workload* makes clients call brokers while a *nemesis*
//! injects faults; each call is an *operation*; the operations of one login are a
//! *history*; the *checker* looks for an order in which the *model* explains it.
//!
//! | module | content |
//! |---|---|
//! | [`checker`] | a crate of its own: the [`model`], with the answer to each step, in each state, at each time; the record of one login; whether the model explains it |
//! | [`race`], [`crash`], [`soak`] | the workloads: `histories` races clients, `crashes` kills brokers, `soak` does everything |
//! | [`player`], [`login`] | the secrets behind the model's numbers, and the requests of its steps; one login |
//! | [`client`], [`recorder`] | the sending of requests, and what a response answers; their recording |
//! | [`provider`] | sign-ins at the imitated providers |
//! | [`guards`] | a model of its own: the guards of a sign-in, each with the attack that it stops |
//! | [`cluster`] | brokers, their database, their providers |
//! | [`audit_log`], [`resources`] | what a broker logs; what it holds |
//! | [`run`](mod@run) | the seed of a run, and its output |

mod audit_log;
pub mod client;
mod cluster;
mod crash;
mod exploration;
pub mod guards;
mod login;
pub mod player;
mod provider;
mod race;
mod recorder;
mod resources;
mod run;
mod soak;

use clap::{Parser, Subcommand};

pub use checker::model;
pub use cluster::replica::{ReplicaArgs, serve as serve_replica};

/// The reason for a failed run, in one line.
pub type RunError = Box<dyn std::error::Error + Send + Sync>;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "consistency",
    version,
    about = "Checks single use on brokers that are raced, killed and soaked"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play every transition of one login to brokers, and compare all that they do
    Explore(exploration::Plan),
    /// Race clients for everything that is single-use, and check their histories
    Histories(race::Plan),
    /// Kill brokers under load, and check that nothing acknowledged is lost
    Crashes(crash::Plan),
    /// Let users sign in while everything goes wrong, and check each login
    Soak(soak::Plan),
    /// Print the shortest attack that each guard of a sign-in stops
    Guards,
    /// One broker of a cluster, for the commands above
    #[command(hide = true)]
    Replica(ReplicaArgs),
}

/// Runs the command.
///
/// # Errors
///
/// If the run finds a violation, or cannot run.
pub async fn run(cli: Cli) -> Result<(), RunError> {
    match cli.command {
        Command::Explore(plan) => exploration::run(plan).await,
        Command::Histories(plan) => race::run(plan).await,
        Command::Crashes(plan) => crash::run(plan).await,
        Command::Soak(plan) => soak::run(plan).await,
        Command::Guards => guards::run(),
        Command::Replica(args) => serve_replica(args).await,
    }
}
