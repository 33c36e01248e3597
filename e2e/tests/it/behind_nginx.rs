//! The broker as operators run it: off loopback, behind Debian's nginx with the
//! configuration that is shipped, over TLS.
//!
//! Needs nginx; `just test` installs it. Fixtures: `nginx` (one in a folder of its own),
//! `proxied_brokers` (brokers behind it), `stub_broker` (records requests and sends a
//! fixed response).

mod nginx;
mod proxied_brokers;
mod stub_broker;

mod addresses;
mod logs;
mod passed_on;
mod refusals;
mod replicas;
mod slow;
