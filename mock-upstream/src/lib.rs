//! An imitation of Google's and GitHub's sign-in, for a broker to sign in with.
//!
//! It is written from the providers' documents and from responses that they were seen to
//! send. It shares nothing with the broker, so that the two cannot be wrong in the same
//! way. That is why a few types have the name of one in another crate: `Clock`, `Provider`,
//! `Settings`, `StartError`.
//!
//! # Layout
//!
//! In the order of the imports: a module uses only those above it.
//!
//! - `system`: the time and the randomness; `expiring_store`: what expires, in bounds.
//! - `http`: requests, responses and the server, on wiremock; the transport, for
//!   deliveries that no HTTP server makes.
//! - [`users`]: who signs in, and at which provider.
//! - [`settings`]: the values that the mock starts with, [`Unconfirmed`] facts included.
//! - [`misbehaviour`]: what goes wrong.
//! - [`journal`]: the last requests of a provider, and the last calls of backends, each with
//!   its sign-in and its ID token.
//! - `provider`: the parts that both providers share, which know neither: the course of a
//!   sign-in, the authorization endpoint with PKCE, the sign-in page.
//! - `google`, `github`: what only one provider does.
//! - `upstream`: the handles of a running mock.
//!
//! # Invariants
//!
//! 1. Only `http` sees wiremock. An endpoint turns a `Request` into a `Response` and knows
//!    nothing else of HTTP.
//! 2. The system's time and randomness are read in `system` alone.
//! 3. A value that is valid once is taken, never read and then removed.
//! 4. Nothing grows without bound: stores, journal, a request and the requests that
//!    wiremock keeps have a maximum size.
//! 5. The two providers share no state: one can be reset while the other works.
//! 6. A request that the real provider refuses is refused; a misbehaviour happens only
//!    after a request passed every check.

#![warn(missing_docs)]

mod expiring_store;
mod http;
mod system;

pub mod settings;
pub mod users;

pub mod journal;
pub mod misbehaviour;
mod provider;

mod github;
mod google;

mod upstream;

pub use journal::{BackendCall, IdTokenCheck, IdTokenReport};
pub use misbehaviour::Misbehaviour;
pub use provider::context::{Next, QueueError, Queued};
pub use settings::{Client, Clients, Iss, Labels, Mode, Settings, Unconfirmed};
pub use system::Clock;
pub use upstream::{MockUpstream, StartError, Upstream};
pub use users::{Provider, User};
