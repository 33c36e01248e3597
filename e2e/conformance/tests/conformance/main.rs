//! The conformance runner: this kit's broker meets every requirement, and each
//! requirement can be broken. Brokers run behind a proxy that makes them
//! non-compliant, each in one way.
//!
//! It is a program of its own, because its thousands of requests would fill the log that
//! `e2e/tests/it` keeps and searches. Both assemble their brokers by `test_broker/parts.rs`
//! of that suite.

#[path = "../../../tests/it/test_broker/parts.rs"]
mod parts;

mod command;
mod compliant;
mod non_compliant;
mod proxy;
mod test_broker;
