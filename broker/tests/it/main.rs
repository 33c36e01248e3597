//! Integration tests of the broker: store, model, HTTP interface, configuration,
//! upstream providers, and failures of the store.

#![expect(clippy::unwrap_used, reason = "a helper may fail its test")]

// What tests start.
mod fake_provider;
mod fuzzed_broker;
mod installation;
mod process;
mod test_broker;

mod model;
mod storage;

mod http;
mod upstream;

mod differential;
mod fuzz;

mod audit;
mod config;
mod interruptions;
#[cfg(feature = "postgres")]
mod postgres;
mod program;
mod store_failures;
mod tls;
