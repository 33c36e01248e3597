//! The parts of a broker outside the stack: its settings, a project, providers.

use std::fmt::Debug;
use std::str::FromStr;

use broker::config::{Config, GitHubConfig, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::projects::Project;
use mock_upstream::{Client, Clock, MockUpstream, Settings};
use testkit::backend::Backend;
use testkit::fresh;

/// The broker's client id at the providers.
const UPSTREAM_CLIENT: &str = "us";

/// The broker's secret there, as the providers know it.
pub(crate) const UPSTREAM_SECRET: &str = "the right secret";

/// The settings of a broker in memory whose providers are at `google` and `github`,
/// where `secret` is its own.
pub(crate) fn config(base_url: &str, google: &str, github: &str, secret: &str) -> Config {
    Config {
        upstream: UpstreamConfig {
            google: Some(GoogleConfig {
                client_id: UPSTREAM_CLIENT.to_owned(),
                client_secret: UpstreamSecret::new(secret),
                enabled: true,
                issuer: parsed(google),
            }),
            github: Some(GitHubConfig {
                client_id: UPSTREAM_CLIENT.to_owned(),
                client_secret: UpstreamSecret::new(secret),
                enabled: true,
                web_url: parsed(github),
                api_url: parsed(github),
            }),
            ..UpstreamConfig::default()
        },
        ..Config::in_process(parsed(base_url))
    }
}

/// The project of `backend`, with these callbacks.
pub(crate) fn project(backend: &Backend, callbacks: &[&str]) -> Project {
    Project::new(
        parsed(&backend.client_id),
        parsed(&backend.client_id),
        parsed(&fresh::challenge(&backend.client_secret)),
        callbacks.iter().copied().map(parsed).collect(),
    )
}

/// Providers that know the broker at `base_url`.
pub(crate) async fn upstream(base_url: &str, clock: Clock) -> MockUpstream {
    let client = |provider| {
        let callback = format!("{base_url}/callback/{provider}");
        Client::new(UPSTREAM_CLIENT, UPSTREAM_SECRET, [callback]).expect("a callback")
    };
    let settings = Settings {
        clock,
        ..Settings::new(client("google"), client("github"))
    };
    MockUpstream::start(settings).await.expect("free ports")
}

fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("it is well-formed")
}
