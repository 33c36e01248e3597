//! What the mock promises, over real sockets.
//!
//! Each test has the source of its fact beside it: a page of the provider, or
//! what the provider was seen to answer. Facts without a confirmed source say
//! so. No test sleeps: the clock is moved.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a failure may panic, in its helpers too"
)]

mod github_api;
mod github_authorize;
mod github_token;
mod google_authorize;
mod google_id_token;
mod google_keys;
mod google_token;
mod google_userinfo;
mod journal;
mod misbehaviours;
mod page;
mod people;
mod script;
mod start;
mod world;
