//! The broker as operators run it: off loopback, behind Debian's nginx with the
//! configuration that is shipped, over TLS.
//!
//! Needs nginx; `just test` installs it. The stage: `nginx` (one in a folder of its
//! own), `front` (a broker behind it), `pretender` (what stands in a broker's place
//! and writes down what it is sent), `tls` (what no client would send).

mod front;
mod nginx;
mod pretender;
mod tls;

mod addresses;
mod flows;
mod refusals;
mod replicas;
mod slow;
mod written;
