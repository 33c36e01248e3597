//! The broker as a client: what it says to Google and GitHub, and what it makes
//! of whatever they answer. The providers here are scripts on raw sockets.
//!
//! `b05_…` is the fifth check of this side in the threat catalogue; `e2e/THREATS.md`
//! lists where each is held.

mod callback;
mod errors;
mod github;
mod health;
mod id_token;
mod keys;
mod limits;
mod online;
mod people;
mod script;
mod stage;
