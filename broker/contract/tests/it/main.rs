//! The contract against the tables of the specification: accepted values, refused values
//! with their rules, and the exact bytes of every response.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a line of a table reads better without borrows"
)]

mod comparison;
mod digest;
mod lifetime;
mod openapi;
mod origin;
mod redirect_uri;
mod requests;
mod responses;
mod rules;
mod secrets;
mod transaction;
mod values;
