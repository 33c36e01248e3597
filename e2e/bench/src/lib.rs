//! The library of the program `bench`: every figure about the cost of the broker, each beside a floor
//! that was measured in the same rounds. Only ratios within one run carry over to another
//! machine.
//!
//! It is empty where the system is not Linux, which keeps a process on a core and counts its
//! nanoseconds.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`measurements`] | each measurement, and the order in which they run |
//! | [`load`] | clients that sign in |
//! | [`servers`] | the servers that are measured, and the providers behind them |
//! | [`report`] | the figures of servers: medians of rounds, and their table |
//! | [`setup`] | how much is measured, in which builds, on which cores |
//! | [`repository`] | the broker of an earlier commit, and the page of its performance |

#![cfg(target_os = "linux")]

mod cli;
mod load;
mod measurements;
mod report;
mod repository;
mod servers;
mod setup;

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

/// Runs the program.
pub fn run() -> ExitCode {
    cli::Cli::parse().run().unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "bench: {error}");
        ExitCode::FAILURE
    })
}

/// A benchmark stops at its first error: a failed login would count as a fast one.
#[derive(Debug)]
pub(crate) enum BenchError {
    /// A request was answered that it may be sent again later.
    Refused(String),
    /// A request was not answered as in a login that succeeds, a flag cannot be followed, a
    /// measurement did not come about, or the system failed.
    Failed(String),
}

impl BenchError {
    /// A failure, in words.
    pub(crate) fn because(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Refused(reason) | Self::Failed(reason)) = self;
        f.write_str(reason)
    }
}

/// It is no error itself, so that every other one becomes it.
impl<E: Error> From<E> for BenchError {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}
