//! The Federated Sign-In broker: the whole specification, against Google and
//! GitHub or an imitation of them.
//!
//! # Bird's-eye view
//!
//! [`startup`] assembles a [`Broker`] from its configuration. A request comes in
//! through [`http`], where guards parse it into the types of the `contract` crate. A
//! handler calls one use case in `sign_in`, which asks the [`store`] for atomic steps
//! in the words of [`model`], and a provider through [`upstream`], and fills in the
//! request's event. The handler answers, and the event goes to the [`audit`] log.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | the command line of the program |
//! | [`startup`] | the start of a broker, its sweeper, and the probe of its delay |
//! | [`config`] | one typed configuration |
//! | [`http`] | routes, guards, statuses, headers, pages |
//! | `sign_in` | the use cases of both flows |
//! | [`model`] | the states of a login and their diagrams; pure |
//! | [`store`] | everything that is single-use, on SQLite or PostgreSQL |
//! | [`upstream`] | the protocols of Google and GitHub |
//! | [`projects`] | the registered consumers |
//! | [`relay`] | the guard against a sign-in that another party started |
//! | `limits` | quotas, rate limits, and the refusal of an overload |
//! | [`cookie_cipher`] | the encryption of cookies |
//! | [`audit`], [`metrics`] | one event for each request and upstream call; their statistics |
//! | [`log_format`] | the readable format of the log, and the panic hook |
//! | [`clock`], [`random`] | the one source of time, and of randomness |
//! | `untrusted` | parsed queries, and text that is safe to print |
//!
//! # Invariants
//!
//! 1. `model` and `sign_in` never see Rocket, serde or sockets. In `model` and
//!    `store`, `now` is an argument.
//! 2. Only `contract` is serializable to the wire.
//! 3. Only `http` knows the statuses, headers and bodies of the answers, and reads
//!    those of a request.
//! 4. Only `store` decides which request came first: every single-use step is one
//!    atomic statement, committed before the answer leaves.
//! 5. This crate depends neither on an imitation of the providers nor on a test, and
//!    has no control endpoint. A test injects what it needs through [`Dependencies`].
//! 6. Wall clock, randomness and environment are read by one module each. Times are
//!    whole milliseconds with the unit in the name.
//! 7. A secret leaves its type in three places: hashing, the answer that issues it,
//!    the call to a provider. The handle of an authorization URL is a secret, too.
//! 8. Every refusal names a [`Rule`](contract::Rule).
//! 9. No circle of imports: of two modules in this table, at most one imports the other.

#![warn(missing_docs)]

pub mod cli;

pub mod startup;

pub mod config;

pub mod http;

mod sign_in;

pub mod model;
pub mod store;
pub mod upstream;

pub mod projects;
pub mod relay;

mod limits;

pub mod cookie_cipher;

pub mod audit;
pub mod log_format;
pub mod metrics;

pub mod clock;
pub mod random;

mod untrusted;

pub use startup::{Broker, Dependencies, StartError};
