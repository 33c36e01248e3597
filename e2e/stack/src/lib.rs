//! The whole sign-in stack in one process: the broker, imitations of Google and
//! GitHub, and the demo, on one clock, with a control address for tests and users.
//!
//! The program `stack` starts it from the command line. A test in Rust starts it with
//! [`Stack::start`] and has as methods everything that the control address offers over
//! HTTP.
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use stack::{Stack, StackSettings};
//!
//! let stack = Stack::start(StackSettings::for_tests()).await?;
//! stack.clock().advance(Duration::from_secs(600));
//! println!("the demo is at {}", stack.urls().consumer);
//! stack.stop().await;
//! # Ok(()) }
//! ```
//!
//! # Layout
//!
//! ```text
//!  browser ──────► demo                        tests, users
//!     │             │                               │
//!     ▼             ▼                               ▼
//!   proxy ─────────────► broker ──► mock      control, inspector
//!     │  faults, operation  │     providers         │
//!     └──► event_log ◄──────┘                       │
//!              ▲──────────── login_status ◄─────────┘
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`stack`] | the handle for tests |
//! | [`imitations`] | the imitated providers alone |
//! | `launch` | the order in which everything starts and stops |
//! | `sandboxes` | further stacks in the same process, and their end |
//! | `sandbox_directory` | the links between their pages |
//! | [`settings`] | every address and flag |
//! | [`cli`] | the command line: the log, the banner, the signals |
//! | `runtime` | the running parts and their reset; listeners and servers |
//! | [`projects`] | the projects of the stack, with their secrets |
//! | [`time`] | the one clock |
//! | `tls` | the certificate authority of the stack, and TLS in front of each server |
//! | [`proxy`] | the fault proxy in front of the broker |
//! | [`faults`], [`operation`] | the faults that it injects, and the calls that they apply to |
//! | [`event_log`] | the broker's audit events and the proxy's own, with masked exchanges |
//! | [`mask`] | the masks of secrets, in exchanges and in other texts |
//! | [`login_status`] | the state of one login, read from the store |
//! | `sources` | the reference consumer's source that teaching texts point at |
//! | [`control`] | the control address: the HTTP API |
//! | `inspector` | the pages of the control address: every login as a sequence diagram |
//! | `demo_panel` | the panel *What just happened* on the demo's pages |
//!
//! # Invariants
//!
//! 1. The broker in the stack is the production broker. Everything special about a test is
//!    either injected (clock, projects, store, provider addresses) or happens in the proxy
//!    in front of it.
//! 2. The stack listens on loopback addresses only, unless `--host` names this machine:
//!    then on all, with TLS and without the development secret.
//! 3. No reader of the event log sees a secret: an exchange is masked before it is
//!    returned, and the login of a secret is looked up by the secret's digest.
//! 4. Everything that judges time reads the [`StackClock`]; TLS alone goes by the system's
//!    time, as its clients do.
//! 5. Imports point one way: [`cli`] → [`stack`], [`imitations`] → `sandboxes` → `launch` →
//!    [`control`] → `lessons`, `demo_panel` → `inspector` → [`login_status`] → `runtime` → `tls`, [`proxy`] → [`event_log`] →
//!    [`mask`], [`faults`] → [`operation`].

pub mod stack;

pub mod imitations;
mod launch;
mod sandboxes;

pub mod settings;
mod start_error;

pub mod cli;

mod runtime;

pub mod projects;
mod sandbox_directory;
pub mod time;

mod accept;
mod tls;

pub mod proxy;

pub mod faults;
pub mod operation;

pub mod event_log;

pub mod mask;

pub mod login_status;

mod sources;

pub mod control;
mod control_error;
mod misbehaviour_name;
mod shell;

mod inspector;
mod lessons;

mod demo_panel;

pub use runtime::{StackUrls, silence_rocket};
pub use settings::{HostName, StackSettings};
pub use stack::Stack;
pub use start_error::StackStartError;
pub use time::StackClock;
