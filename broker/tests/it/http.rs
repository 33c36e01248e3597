//! The running broker over real sockets, spoken to in raw HTTP and raw JSON.

mod at_rest;
mod audit;
mod authorize;
mod bearer;
mod bodies;
mod callbacks;
mod clients;
mod clock_set_back;
mod fragments;
mod gates;
mod headers;
mod health;
mod limits;
mod methods;
mod odd_methods;
mod outage;
#[cfg(feature = "postgres")]
mod postgres_limits;
mod relay;
mod results;
mod rotation;
mod rules;
mod sessions;
mod tokens;
mod upstream_logins;
mod visits;
pub(crate) mod world;
