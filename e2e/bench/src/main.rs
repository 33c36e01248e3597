//! The program `bench`: every figure about the cost of the broker, each beside a floor
//! that was measured in the same rounds. Only ratios within one run carry over to another
//! machine.
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

mod cli;
mod load;
mod measurements;
mod report;
mod repository;
mod servers;
mod setup;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A benchmark stops at its first error: a failed login would count as a fast one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// A request was not answered as in a login that succeeds.
    #[error("{request} was answered {answer}")]
    Unexpected {
        /// Its method and path, without secrets.
        request: &'static str,
        /// Its status and body.
        answer: String,
        /// Whether it may be sent again later.
        is_refused: bool,
    },
    /// PostgreSQL did not answer a question about its statistics.
    #[error("PostgreSQL's statistics cannot be read: {0}")]
    Statistics(#[from] tokio_postgres::Error),
    /// A flag cannot be followed, or a measurement did not come about.
    #[error("{0}")]
    Failed(String),
    /// A connection failed.
    #[error("a connection failed: {0}")]
    Connection(#[from] hyper::Error),
    /// A file or process failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl BenchError {
    /// A failure, in words.
    pub(crate) fn because(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }
}
