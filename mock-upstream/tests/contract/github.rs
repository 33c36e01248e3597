//! GitHub's endpoints.

mod account;
mod api;
mod authorize;
mod token;
