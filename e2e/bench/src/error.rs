//! The reasons why a benchmark cannot go on.

use std::io;

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
    /// A server did not start, or a connection broke.
    #[error("{0}")]
    Server(String),
    /// A connection failed.
    #[error("a connection failed: {0}")]
    Connection(#[from] hyper::Error),
    /// A file or process failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
