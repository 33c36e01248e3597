//! The conformance runner: that our broker meets every requirement, and that each
//! requirement can be broken. Brokers stand behind a proxy that makes some of
//! them wrong, each in one way.

mod command;
mod ground;
mod proxy;
mod right;
mod wrong;
