//! The reasons why a benchmark cannot go on.

use std::io;
use std::path::PathBuf;

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
    },
    /// A request was refused, and may be sent again later.
    #[error("{request} was refused until later: {answer}")]
    Refused {
        /// Its method and path, without secrets.
        request: &'static str,
        /// Its status and body.
        answer: String,
    },
    /// A program to measure does not exist.
    #[error(
        "there is no program {path}: run `just bench`, which builds it, or name another with {flag}"
    )]
    NoProgram {
        /// The path at which it was searched.
        path: PathBuf,
        /// The flag that names another.
        flag: &'static str,
    },
    /// PostgreSQL did not start.
    #[error("{0}; without PostgreSQL: --no-postgres")]
    NoPostgres(io::Error),
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
