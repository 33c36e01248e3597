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
//!   proxy ─────────────► broker ──► mock      control, inspector, lessons
//!     │  faults, operation  │     providers         │
//!     └──► event_log ◄──────┘                       │
//!              ▲───── facts ◄───────────────────────┘
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line: the log, the banner, the signals |
//! | [`stack`] | the handle for tests |
//! | `sandboxes` | further stacks in the same process: of tests, and of a class with its wall |
//! | `launch` | the order in which everything starts and stops |
//! | [`control`], `request` | the control address: the HTTP API, what its handlers take, and their errors |
//! | `inspector`, `page` | its pages: every login as a sequence diagram |
//! | [`sequence_diagram`] | sequence diagrams as SVG |
//! | `lessons` | twelve lessons, and the logins of the attacker in two of them |
//! | `guide` | all that the maker of an app needs, for programs and for coding agents |
//! | `snippets` | the settings of an app, and each call of both flows, with the values of the stack |
//! | [`regions`] | the same part of the reference consumers, in each language |
//! | [`practice`] | the exercises of a learner, mirrored |
//! | `demo_panel` | the panel *What just happened* on the demo's pages |
//! | [`login_status`] | the state of one login, read from the store |
//! | [`imitations`] | the start of the imitated providers, in a stack or alone |
//! | `runtime` | the running parts and their reset; listeners, servers and the sandboxes beside them |
//! | `facts`, `compared`, `labels` | what each event of a login means, the values that a refusal is about, and the words for it |
//! | [`sources`] | the reference consumers' source, and the places in it that teaching texts point at |
//! | [`documents`], [`wording`] | the documents of the repository as pages, and their commands and addresses as a reader can use them |
//! | [`proxy`] | the fault proxy in front of the broker |
//! | [`event_log`] | the broker's audit events and the proxy's own, with masked exchanges |
//! | [`mask`] | the masks of secrets, in exchanges and in other texts |
//! | [`faults`], [`operation`] | the faults that the proxy injects, and the calls that they apply to |
//! | [`tls`] | the certificate authority of the stack, TLS in front of each server, and a server with certificates that a client must refuse |
//! | [`projects`] | the projects of the stack, with their secrets |
//! | [`settings`], [`time`] | every address and flag, and the one clock |
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
//! 5. Imports point one way, from the top of the table to its end; no two files import each
//!    other, at any length. A meaning is decided once, in `facts`, from typed events; the
//!    pages only show it.

#![warn(missing_docs)]

pub mod cli;

pub mod stack;

mod sandboxes;

mod launch;

pub mod control;
mod request;

mod guide;
mod inspector;
mod page;
pub mod regions;
pub mod sequence_diagram;
mod snippets;

mod lessons;

mod demo_panel;

pub mod login_status;

pub mod imitations;
mod runtime;

mod facts;

mod compared;
mod labels;

pub mod documents;
pub mod sources;
pub mod wording;

pub mod proxy;

pub mod event_log;

pub mod mask;

pub mod faults;
pub mod operation;

mod accept;
pub mod tls;

pub mod practice;
pub mod projects;
pub mod settings;
pub mod time;

pub use runtime::{StackUrls, free_port, silence_rocket};
pub use sandboxes::api::calls;
pub use settings::{HostName, StackSettings, StackStartError};
pub use stack::Stack;
pub use time::StackClock;
