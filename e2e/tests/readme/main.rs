//! What the README shows, run as it is: the flow in curl, and backends in three languages.
//!
//! Needs curl 7.82, and the packages of the consumers in Python and Node;
//! `just test-examples` installs those and builds the backend in Rust.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backends;
mod curl;
mod program;
