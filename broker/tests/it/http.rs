//! The HTTP interface of a running broker, in raw HTTP and raw JSON.

mod clean_flow;
mod legacy_flow;
mod relay_guard;

mod callback;
mod upstream_login_cookies;

mod bodies;
mod credentials;
mod headers;
mod paths;
mod rules;

mod limits;
mod overload;
#[cfg(feature = "postgres")]
mod postgres;
mod secrets_at_rest;
mod store;
