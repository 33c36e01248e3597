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
    /// Only one core may be used.
    #[error(
        "a benchmark needs two cores, one for the server and one for the load; \
         this process may use only one"
    )]
    OneCore,
    /// PostgreSQL did not start.
    #[error("{0}; without PostgreSQL: --no-postgres")]
    NoPostgres(io::Error),
    /// A commit to compare with cannot be built.
    #[error("--against {commit}: {reason}")]
    Against {
        /// The commit as it was named.
        commit: String,
        /// The reason, and the way out.
        reason: String,
    },
    /// The table cannot be published.
    #[error("--publish: {0}")]
    Publish(String),
    /// A step of the store did not return what it returns in a login that succeeds.
    #[error("the store's step {0} did not succeed")]
    Step(&'static str),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] broker::store::StoreError),
    /// PostgreSQL did not answer a question about its statistics.
    #[error("PostgreSQL's statistics cannot be read: {0}")]
    Statistics(#[from] tokio_postgres::Error),
    /// A server did not start, or a measurement did not come about.
    #[error("{0}")]
    Server(String),
    /// A connection failed.
    #[error("a connection failed: {0}")]
    Connection(#[from] hyper::Error),
    /// A file or process failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
