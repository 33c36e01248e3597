//! The whole stack from outside: real HTTP, raw JSON, a browser that writes down
//! every step. No type of the broker's contract appears here, so that none can
//! hide a mistake on the wire.
//!
//! One module per question. The stage that they share: `world` (a stack and a
//! project of its own), `assembly` (a broker by itself), `lone` (one whose
//! providers are in trouble), `process` (one in a thread of its own), `backend` (a
//! consumer's server side), `browser` and its `jar`, `tcp` (what no client would
//! send), `login` (either flow), `response`, `published` (what each of a broker's
//! answers is held against), `sentinel` (what none of them may tell), `logs`,
//! `fresh`.

mod login;
mod logs;
mod tcp;
mod test_broker;
mod test_stack;

mod clean_flow;
mod legacy_flow;

mod across_sites;
mod answers;
mod arrivals;
#[cfg(feature = "nginx")]
mod behind_nginx;
mod commands;
mod contract;
mod control;
mod cookies;
mod demo;
mod examples;
mod failures;
mod faults;
mod hostile;
mod http_input;
mod inspector;
mod malformed_requests;
mod other_browser;
mod relay;
mod replay_and_expiry;
mod secrets_stay_in;
mod threats;
mod time;
mod unconfirmed;
