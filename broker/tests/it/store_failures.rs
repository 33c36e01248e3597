//! Failures of the store. The broker reports one clear line and does not start, or answers
//! 503 while a failure lasts. Afterwards it continues with everything that it had
//! acknowledged, and with no step half done.
//!
//! These tests run the real program, because only a process can be locked out, run out of
//! disk space, or be killed by a signal.

#[cfg(feature = "postgres")]
mod clocks;
mod damaged;
mod full_disk;
mod locked;
mod moved;
mod newer;
#[cfg(feature = "postgres")]
mod password;
mod power_cut;
mod unwritable_log;
