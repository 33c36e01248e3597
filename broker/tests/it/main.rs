//! Integration tests of the broker: store, model, HTTP interface, configuration,
//! upstream providers, and failures of the store.

#![expect(clippy::unwrap_used, reason = "a helper may fail its test")]

mod broker_process;
mod certificates;
mod command;
mod config;
mod differential;
mod fuzz;
mod hang_up;
mod health;
mod http;
mod installation;
mod log_lines;
mod metrics;
mod model;
mod program;
mod relay;
mod scratch;
mod slow_github;
mod stopping;
mod storage;
mod store_failures;
mod sweeper;
mod test_broker;
mod tls;
mod upstream;
