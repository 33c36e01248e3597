//! The providers of a test broker: an imitation of GitHub where Ada signs in, and a
//! Google that cannot be reached.

use broker::config::{GitHubConfig, GoogleConfig, UpstreamSecret};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub(crate) const UPSTREAM_TOKEN: &str = "gho_UpstreamToken7vK2mW9pL4tR8sB3nF6hJ1d";

pub(crate) const GITHUB_SECRET: &str = "GitHubSecret-k2mW9pL4tR8sB3nF6hJ1dG5yC0Qx";

pub(super) fn unreachable_google() -> GoogleConfig {
    GoogleConfig {
        client_id: "google-client".to_owned(),
        client_secret: UpstreamSecret::new("google-secret"),
        enabled: true,
        // Port 1 of loopback: closed on any sane machine.
        issuer: "http://127.0.0.1:1".parse().unwrap(),
    }
}

pub(super) fn github_at(server: &MockServer) -> GitHubConfig {
    GitHubConfig {
        client_id: "github-client".to_owned(),
        client_secret: UpstreamSecret::new(GITHUB_SECRET),
        enabled: true,
        web_url: server.uri().parse().unwrap(),
        api_url: server.uri().parse().unwrap(),
    }
}

/// A GitHub that accepts every code as Ada's.
pub(super) async fn imitate_github() -> MockServer {
    let server = MockServer::start().await;
    let responses = [
        (
            "POST",
            "/login/oauth/access_token",
            json!({ "access_token": UPSTREAM_TOKEN, "token_type": "bearer", "scope": "" }),
        ),
        (
            "GET",
            "/user",
            json!({ "id": 583_231, "login": "ada", "name": "Ada Lovelace", "avatar_url": null }),
        ),
        (
            "GET",
            "/user/emails",
            json!([{ "email": "ada@mail.example", "primary": true, "verified": true }]),
        ),
    ];
    for (name, endpoint, body) in responses {
        Mock::given(method(name))
            .and(path(endpoint))
            .respond_with(ResponseTemplate::new(200).set_body_json(body))
            .mount(&server)
            .await;
    }
    server
}

/// The profile of the imitation's Ada, as JSON.
pub(crate) fn adas_profile() -> Value {
    serde_json::to_value(crate::users::ada()).unwrap()
}
