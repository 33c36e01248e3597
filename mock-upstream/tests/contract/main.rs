//! The promises of the mock, over real sockets.
//!
//! Each fact has its source beside it: a page of the provider, or a response that the
//! provider was seen to send. A fact without a confirmed source says so. No test sleeps:
//! the clock is moved.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a failure may panic, in its helpers too"
)]

mod test_mock;

mod clients;
mod controls;
mod journal;
mod methods;
mod page;
mod people_file;
mod requests;
mod start;
mod users;

mod both_providers;
mod github {
    mod account;
    mod api;
    mod authorize;
    mod token;
}
mod google {
    mod authorize;
    pub(crate) mod id_token;
    pub(crate) mod keys;
    mod token;
    mod userinfo;
}

mod misbehaviours;
