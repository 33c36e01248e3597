//! Everything that must be single-use, and nothing else.
//!
//! Only the store decides which of two requests came first: each step is one atomic
//! statement (or one transaction around it), committed before it returns. `now` is
//! always an argument, and secrets arrive as digests.
//!
//! [`Store`] is the interface and [`outcome`] the results of its steps. `steps`
//! takes the decisions once for both engines, on the statements of `sql`; [`sqlite`]
//! and [`postgres`] run them.

pub mod fail_points;
pub mod outcome;
pub mod postgres;
pub mod sqlite;

pub(crate) mod instrumented;
pub(crate) mod skew;
pub(crate) mod step_queue;

mod error;
mod executor;
mod interface;
mod row;
mod sql;
mod steps;
mod url;

use std::sync::Arc;

use fail_points::FailPoints;

pub use error::StoreError;
pub use interface::Store;
pub use outcome::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead};
pub use postgres::url::PostgresUrl;
pub use url::StoreUrl;

/// Opens the store at `url`, whose steps report to `fail_points`.
///
/// # Errors
///
/// If the store cannot be opened. A PostgreSQL database that cannot be reached is
/// no error here: its steps fail until it can.
pub fn open(url: &StoreUrl, fail_points: FailPoints) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match url {
        StoreUrl::Postgres(url) => Arc::new(postgres::Postgres::at(url, fail_points)?),
        StoreUrl::SqliteMemory => Arc::new(sqlite::Sqlite::in_memory(fail_points)?),
        StoreUrl::SqliteFile(path) => Arc::new(sqlite::Sqlite::at(path, fail_points)?),
    })
}
