//! The broker as operators run it: off loopback, behind Debian's nginx with the
//! configuration that is shipped, over TLS.
//!
//! Needs nginx; `just test` installs it. Fixtures: `nginx` (one in a folder of its own),
//! `proxied_brokers` (brokers behind it), `stub_broker` (records requests and sends a
//! fixed response), `tls` (bytes that no client would send).

mod nginx;
mod proxied_brokers;
mod stub_broker;
mod tls;

mod addresses;
mod cookies;
mod flows;
mod logs;
mod refusals;
mod replicas;
mod slow;
