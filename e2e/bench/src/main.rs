//! The program `bench`: measures the broker beside `floor-hops`, a server that makes the
//! same calls and keeps nothing. Only ratios within one run carry over to another machine.

mod cli;
mod cores;
mod error;
mod load;
mod logins;
mod servers;
mod stats;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}
