//! The program `bench`: every figure about the cost of the broker, each beside a floor
//! that was measured in the same rounds. Only ratios within one run carry over to another
//! machine.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`measurements`] | each measurement, and the order in which they run |
//! | [`report`], [`publish`] | the figures of servers, their table, its publication |
//! | [`load`] | clients that sign in |
//! | [`servers`] | the servers that are measured, and the providers behind them |
//! | [`setup`], [`programs`], [`cores`] | how much is measured, in which builds, on which cores |
//! | [`progress`], [`stats`] | the time that is left; medians |

mod cli;
mod cores;
mod error;
mod load;
mod measurements;
mod programs;
mod progress;
mod publish;
mod report;
mod servers;
mod setup;
mod stats;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}
