//! TLS for the servers of a stack: the certificate authority to trust, its file, and the
//! front that each server listens behind.
//!
//! The servers themselves speak plain HTTP on loopback, as a broker does behind nginx, so
//! that nothing in them differs from a stack without TLS.
//!
//! TLS judges validity by the system's time. The [`StackClock`](crate::StackClock) does
//! not reach it: a stack whose clock is a year ahead has a certificate that is valid
//! today.

mod authority;
mod ca_file;
mod front;
mod shared;

pub(crate) use front::TlsFront;
pub(crate) use shared::{SharedAuthority, StackTls};
