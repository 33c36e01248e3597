//! The conformance runner: that our broker meets every requirement, and that each
//! requirement can be broken. Brokers stand behind a proxy that makes some of
//! them wrong, each in one way.
//!
//! A binary of its own, for its thousands of requests would fill the log that `it`
//! keeps and searches; what stages both is `it`'s.

#[path = "../../../tests/it/test_broker/assembly.rs"]
mod assembly;

mod command;
mod ground;
mod proxy;
mod right;
mod wrong;
