//! An imitation of Google's and GitHub's sign-in, for a broker to sign in with.
//!
//! Written from the providers' documents and from what they were seen to
//! answer; shares nothing with the broker, so that the two cannot be wrong in
//! the same way.
//!
//! # Where what is
//!
//! - [`settings`]: what to start with, [`unconfirmed`] facts included; [`upstream`]: the handles on what runs.
//! - [`script`]: who signs in next and what goes wrong then; [`people`] and
//!   [`misbehaviour`] are its vocabulary.
//! - [`journal`]: what was asked of a provider.
//! - `google`, `github`: one provider's dialect each.
//! - `desk`, `sign_in`, `shelf`, `pkce`, `spoil`: what both dialects stand on.
//! - `server`, `call`, `answer`: HTTP, on wiremock, which stays in there.
//! - `wire`: what happens to an answer on its way that no HTTP server does.
//! - `pages` and the templates: what a browser sees.
//!
//! # Invariants
//!
//! 1. Only `server` and `call` see wiremock. A dialect turns a `Call` into an
//!    `Answer` and knows nothing else of HTTP.
//! 2. The wall clock is read in [`clock`] alone, chance in `chance` alone.
//! 3. What is valid once is taken, never looked up and then removed.
//! 4. Nothing grows without bound: shelves, journal and what wiremock keeps of
//!    the requests have a size.
//! 5. The two providers share no state: one may be reset while the other works.
//! 6. A request that the real provider refuses is refused; a misbehaviour
//!    happens only after a request passed every check.

mod answer;
mod call;
mod chance;
pub mod clock;
mod desk;
mod github;
mod google;
pub mod journal;
pub mod misbehaviour;
mod pages;
pub mod people;
mod pkce;
pub mod provider;
pub mod script;
mod server;
pub mod settings;
mod shelf;
mod sign_in;
mod spoil;
pub mod unconfirmed;
pub mod upstream;
mod wire;

pub use clock::Clock;
pub use misbehaviour::Misbehaviour;
pub use people::Person;
pub use provider::Provider;
pub use script::{Iss, Mode, Next};
pub use settings::{Client, Settings};
pub use unconfirmed::Unconfirmed;
pub use upstream::{MockUpstream, StartError, Upstream};
