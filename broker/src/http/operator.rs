//! `GET /metrics`, on a server of its own for the operator.

use std::net::SocketAddr;

use rocket::http::ContentType;
use rocket::{Build, Rocket, State, get, routes};

use super::settings::config;
use crate::metrics::Metrics;

/// The web server of `GET /metrics` at `bind`, not yet listening.
pub fn operator(metrics: Metrics, bind: SocketAddr) -> Rocket<Build> {
    rocket::custom(config(bind))
        .manage(metrics)
        .mount("/", routes![read])
}

#[get("/metrics")]
fn read(metrics: &State<Metrics>) -> (ContentType, String) {
    let open_metrics = ContentType::new("application", "openmetrics-text")
        .with_params([("version", "1.0.0"), ("charset", "utf-8")]);
    (open_metrics, metrics.text())
}
