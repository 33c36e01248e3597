//! A Rocket server with one page, which no start of a server on Rocket can beat.

use rocket::{Config, get, routes};

use crate::error::BenchError;

/// Serves until it is killed.
pub(crate) async fn serve(port: u16) -> Result<(), BenchError> {
    #[get("/")]
    fn index() -> &'static str {
        "ok"
    }
    let config = Config {
        port,
        log_level: rocket::config::LogLevel::Off,
        ..Config::release_default()
    };
    let server = rocket::custom(config).mount("/", routes![index]);
    let launched = server.launch().await;
    launched
        .map(drop)
        .map_err(|error| BenchError::Server(error.to_string()))
}
