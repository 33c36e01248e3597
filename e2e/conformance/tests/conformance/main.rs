//! The conformance runner: this kit's broker meets every requirement, and each
//! requirement can be broken. Brokers run behind a proxy that makes them
//! non-compliant, each in one way.
//!
//! A binary of its own: its thousands of requests would fill the log that `it` keeps
//! and searches. Its broker is assembled as `it` assembles one.

#[path = "../../../tests/it/test_broker/parts.rs"]
mod parts;

mod command;
mod compliant;
mod non_compliant;
mod proxy;
mod test_broker;
