//! The whole stack from outside: real HTTP, raw JSON, and a browser that records every
//! step. No test builds a request or reads a response through a type of the contract, so
//! that none can hide a mistake. Only `fuzz` and `contract` use such types, to assemble
//! brokers and to name rules.
//!
//! The fixtures are `test_stack` (a stack, with a project of its own) and `test_broker`
//! (a broker outside it). Beside them are `login` (either flow), `logs` (every logged
//! line) and `tcp` (bytes that no client would send). The HTTP client, the browser and
//! the backend are testkit's.

mod login;
mod logs;
mod tcp;
mod test_broker;
mod test_stack;

mod flows;

mod across_sites;
#[cfg(feature = "nginx")]
mod behind_nginx;
mod commands;
mod contract;
mod control;
mod cookies;
mod demo;
mod examples;
mod failures;
mod faults;
mod fuzz;
mod host_name;
mod http_input;
mod https;
mod inspector;
mod malformed_requests;
mod other_browser;
mod people;
mod relay;
mod replay_and_expiry;
mod secrets_stay_in;
mod threats;
mod time;
mod two_projects;
mod what_happened;
