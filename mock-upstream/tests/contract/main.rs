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

mod handle;
mod http;
mod settings;

mod again;
mod page;
mod users;

mod authorize;
mod token;

mod github;
mod google;
mod keys;

mod misbehaviours;
