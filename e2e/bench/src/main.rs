//! The program `bench`: every figure about the cost of the broker, each beside a floor
//! that was measured in the same rounds. Only ratios within one run carry over to another
//! machine.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`measurements`] | each measurement, and the order in which they run |
//! | [`report`] | the rows that a measurement returns, their table, its publication |
//! | [`load`] | clients that sign in |
//! | [`servers`] | the servers that are measured, and the providers behind them |
//! | [`store`] | the steps of a login at the store, without a server |
//! | [`setup`], [`size`], [`programs`] | what is measured, by how much load, in which builds |
//! | [`cores`], [`progress`], [`stats`] | pinning; the time that is left; medians |

mod cli;
mod cores;
mod error;
mod load;
mod measurements;
mod programs;
mod progress;
mod report;
mod servers;
mod setup;
mod size;
mod stats;
mod store;

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
