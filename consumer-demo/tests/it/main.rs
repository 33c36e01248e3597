//! The consumer demo against a scripted broker, request by request.
//!
//! One module per subject; `test_consumer.rs` is the fixture that they share. `C1`
//! to `C20` are checks of the threat catalogue: `e2e/THREATS.md` lists them.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers as well"
)]

mod scripted_broker;
mod test_consumer;

mod answers;
mod clean;
mod cookies;
mod legacy;
mod pages;
mod program;
mod requests;
mod shared;
