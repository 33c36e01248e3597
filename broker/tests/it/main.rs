//! The broker from the outside in: its store, its pure flows, its wire, its
//! configuration, and what becomes of it when its store is in trouble.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a line of a table reads better without borrows"
)]

mod broker_process;
mod certificates;
mod clock;
mod command;
mod config;
mod descriptors;
mod hang_up;
mod http;
mod log_lines;
mod metrics;
mod model;
mod random;
mod relay;
mod rocket_settings;
mod scratch;
mod slow_github;
mod stopping;
mod storage;
mod sweeper;
mod test_broker;
mod tls;
mod trouble;
mod upstream;
mod users;
