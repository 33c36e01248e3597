//! The reference consumer of the Federated Sign-In Service: a small web
//! application that signs users in through a broker, by both of its flows.
//!
//! It is written to be read from top to bottom and copied from. The protocol is
//! in the first four files; the rest is the web application around it.
//!
//! It shares nothing with the broker but its contract, like any consumer. So `Clock`,
//! `Config` and `StartError` are its own types, although the broker has these names, too.
//!
//! # Layout, in reading order
//!
//! | file | contents |
//! |---|---|
//! | `clean.rs` | the recommended flow: start a login, read its result once |
//! | `legacy.rs` | the browser authorization flow: state, PKCE, code, token |
//! | `broker.rs` | the calls to the broker, and what each failure permits |
//! | `session.rs` | what the server remembers of one browser |
//! | `session_store.rs` | all sessions, found by the id in a cookie |
//! | `database.rs` | the database of both, which several processes may share |
//! | `browser.rs` | the cookies that tie a browser to its session and its logins |
//! | `cookies.rs` | the cookies of a request, byte for byte, their random values, and how a browser looks, which a planted cookie does not change |
//! | `accounts.rs` | the users, keyed by `subject` |
//! | `site.rs` | home, profile with a note, sign-in at the end of a flow, sign-out |
//! | `guards.rs` | what a request must be before a handler runs |
//! | `pages.rs`, `pages/`, `templates/` | the HTML that users see |
//! | `server.rs` | Rocket: settings, headers, methods, request log |
//! | `app.rs` | the state that all handlers share |
//! | `config.rs`, `random.rs` | settings and time; randomness |
//! | `cli.rs` | the program: flags, environment, servers |
//!
//! # Invariants
//!
//! 1. A secret (session key, state, verifier, token, client secret) stays on the
//!    server. The browser holds random cookies only: the id of its session, and
//!    one for each clean login that it started. (Two values travel through the
//!    browser by design: `state` and the handoff code, which are worthless
//!    without that session.)
//! 2. A callback calls the broker only for a browser with a live session, and asks
//!    only about clean logins whose own cookie that browser sent. It looks like the
//!    one that started the login.
//! 3. A value that may be used once is *taken* out of the session before it is
//!    used, by one statement. No two requests can hold the same one, of one process or
//!    of two.
//! 4. A one-time call is never repeated after a failure. The user starts again.
//! 5. Nothing runs in the background: every call to the broker answers a request.
//! 6. HEAD, a prefetch or a forged form changes nothing behind a GET.
//! 7. The wall clock, randomness and the environment are read by one module each.
//! 8. No two modules import each other.

#![warn(missing_docs)]

mod clean;
mod legacy;

mod broker;

mod session;
mod session_store;

mod database;

mod browser;
mod cookies;

mod accounts;

mod site;

mod guards;
mod pages;
mod server;

mod app;
mod config;
mod random;

pub mod cli;

pub use crate::app::App;
pub use crate::config::{Clock, Config, StartError};
pub use crate::cookies::SentCookies;
