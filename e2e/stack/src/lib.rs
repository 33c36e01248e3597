//! The whole stack in one process: the broker, the imitated providers and the
//! demo, on one clock, with a control address beside them.
//!
//! The binary `stack` starts it for people; a test starts it with
//! [`Stack::start`] and has in Rust what the control address offers over HTTP.
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use stack::{Settings, Stack};
//!
//! let stack = Stack::start(Settings::for_tests()).await?;
//! stack.clock().advance(Duration::from_secs(600));
//! println!("the demo is at {}", stack.urls().consumer);
//! stack.stop().await;
//! # Ok(()) }
//! ```
//!
//! # Layout
//!
//! | module | what lives there |
//! |---|---|
//! | [`stack`] | what is started, in which order, and how it is taken down |
//! | [`settings`] | every address and flag, once |
//! | [`wire`] | the proxy in front of the broker |
//! | [`faults`], [`operation`] | what it does wrong, and to which calls |
//! | [`logbook`] | what happened, masked |
//! | [`truth`] | where a login stands, by the store |
//! | [`control`] | the control address |
//! | `inspector` | its pages: every login as a sequence diagram |
//! | [`projects`] | the projects of the stack, with their secrets |
//! | [`time`] | the one clock |
//!
//! # Invariants
//!
//! 1. The broker in here is the production broker. What is special about a test
//!    is handed to it (clock, projects, store, provider addresses) or stands in
//!    front of it (the wire).
//! 2. The tests speak raw JSON, so that a shared type cannot hide a mistake.
//! 3. Nothing listens anywhere but on loopback.

pub mod control;
pub mod faults;
pub mod logbook;
pub mod operation;
pub mod projects;
pub mod settings;
pub mod stack;
pub mod time;
pub mod truth;
pub mod wire;

mod hosted;
mod inspector;
mod place;
mod start_error;
mod world;

pub use hosted::silence_rocket;
pub use settings::Settings;
pub use stack::Stack;
pub use start_error::StartError;
pub use time::StackClock;
pub use world::Urls;
