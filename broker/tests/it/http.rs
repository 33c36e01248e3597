//! The HTTP interface of a running broker, in raw HTTP and raw JSON.

mod accept;
mod audit;
mod authorization_url;
mod authorize;
mod bearer;
mod bodies;
mod callback;
mod client_credentials;
mod confirmation_page;
mod fragments;
mod headers;
mod health;
mod limits;
mod login_quota;
mod login_result;
mod login_session;
mod malformed_requests;
mod methods;
mod overload;
mod planted_upstream_login;
#[cfg(feature = "postgres")]
mod postgres_limits;
mod relay_guard;
mod rules;
mod secrets_at_rest;
mod store_outage;
mod token;
mod undecodable_headers;
mod upstream_login_cookies;
