//! The consumer demo against a scripted broker, request by request.
//!
//! One module per subject; `test_consumer.rs` is the fixture that they share. `C1`
//! to `C20` are checks of the threat catalogue: `e2e/THREATS.md` lists them.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers as well"
)]

mod browser;
mod scripted_broker;
mod test_consumer;

mod accounts;
mod answers;
mod clean;
mod command_line;
mod configuration;
mod cookies;
mod forms;
mod legacy;
mod pages;
mod planted;
mod sockets;
mod tabs;
