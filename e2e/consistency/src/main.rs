//! `consistency`: single use, shown on brokers that are raced, killed and soaked.
//!
//! Brokers run as processes of their own, one or several on one database, and
//! sign people in with the imitated providers. `histories` races clients for
//! every single-use operation and checks what each of them heard; `crashes`
//! kills a broker, or its database, and asks afterwards about everything that
//! had been acknowledged; `soak` lets people sign in for as long as it is told to,
//! while all that may go wrong does.
//!
//! | module | what lives there |
//! |---|---|
//! | [`history`] | what clients heard, and what may not be among it |
//! | [`histories`], [`race`] | many logins at once, each step of them contended |
//! | [`crashes`], [`load`], [`memory`] | what is killed and when; who works meanwhile; what must be true after |
//! | [`soak`] | everything at once, and each login judged |
//! | [`fleet`], [`replica`] | the brokers, their database, their providers |
//! | [`client`] | what a backend and a browser send, raw |
//! | [`chance`], [`report`] | the seed; what is printed |

mod chance;
mod client;
mod crashes;
mod fleet;
mod histories;
mod history;
mod load;
mod memory;
mod race;
mod replica;
mod report;
mod soak;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What went wrong, in one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Proves single use on brokers that are raced, killed and soaked.
#[derive(Debug, Parser)]
#[command(name = "consistency", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Race clients for everything that is single-use, and check what they heard
    Histories(histories::Plan),
    /// Kill brokers under load, and ask afterwards for what was acknowledged
    Crashes(crashes::Plan),
    /// Let people sign in while everything goes wrong, and judge each login
    Soak(soak::Plan),
    /// One broker of a fleet, for the commands above
    #[command(hide = true)]
    Replica(replica::Orders),
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Histories(plan) => histories::run(plan).await,
        Command::Crashes(plan) => crashes::run(plan).await,
        Command::Soak(plan) => soak::run(plan).await,
        Command::Replica(orders) => replica::serve(orders).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "consistency: {why}");
            ExitCode::FAILURE
        }
    }
}
