//! The contract against the tables of the specification: accepted values, refused values
//! with their rules, and the exact bytes of every response.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod addresses;
mod bodies;
mod published;
mod secrets;
mod values;
