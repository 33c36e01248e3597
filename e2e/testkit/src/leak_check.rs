//! Finds the secrets of a test in everything that was written meanwhile: pages, log
//! lines, database files, a proxy's log.
//!
//! There are two ways to search. A [`LeakCheck`] knows the secrets and finds each in
//! every spelling, also when it was cut short. [`suspicious`] does not know them, and
//! goes by what all of them look like. [`watch_log`] applies it to every line that a
//! process logs: one call in each suite.
//!
//! ```
//! use testkit::leak_check::{LeakCheck, suspicious};
//!
//! let leak_check = LeakCheck::over([("client secret", "hunter2/hunter3")]);
//! let leaks = leak_check.search("GET /?client_secret=hunter2%2Fhunter3");
//! assert_eq!(leaks.len(), 1);
//! assert_eq!(leaks[0].to_string(), "client secret, url-encoded");
//!
//! let careless = "refused LeakMark-Qx";
//! assert!(suspicious(careless).is_some());
//! ```

mod forms;
pub mod log;
mod response;
mod shape;

pub use forms::{Form, Leak, LeakCheck, forms};
pub use log::{watch_log, watch_log_and, without_keeping_log};
pub use response::in_response;
pub use shape::{MARK, drawn, suspicious};
