//! The broker as a client of Google and GitHub: its calls, and its handling of any
//! response. The providers here are servers on raw sockets.
//!
//! `b05_…` is the fifth check of this side in the threat catalogue; `e2e/THREATS.md`
//! lists the tests of each check.

mod availability;
mod callback;
mod credentials;
mod errors;
mod id_token;
mod keys;
mod limits;
mod online;
pub(crate) mod providers;
mod users;
