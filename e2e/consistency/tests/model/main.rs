//! The broker beside the reference model of [`consistency`], by a clock that stands still
//! between the steps: the same script is played to both, and every answer of the broker
//! must be the model's, to the byte, also in the very millisecond in which something ends
//! and in those around it.
//!
//! [`script`] has the lines of a script, the model and the time, [`choice`]
//! the lines that are worth taking; [`players`] take them over HTTP on a [`fixture`],
//! [`verdict`] compares, [`histories`] does so thousands of times on each of the
//! [`engines`], and counts where that led, and [`found`] replays scripts.

#[path = "../../../tests/it/broker_parts.rs"]
mod broker_parts;
mod choice;
mod engines;
// A script has one line on each line.
#[rustfmt::skip]
mod found;
mod fixture;
mod histories;
mod players;
mod script;
mod verdict;
