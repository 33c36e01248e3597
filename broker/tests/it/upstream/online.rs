//! The providers as an operator sees them: the calls, the report and the advice of
//! `broker check --online`, and in the log a provider that refuses our own client
//! credentials.

use tokio::task::spawn_blocking;

use super::{DISCOVERY, KEY_ONE, KEY_TWO, KEYS, discovery_document, jwk, key_set, start_google};
use crate::fake_provider::{FakeProvider, Reply, TOKEN};
use crate::installation::{Installation, Scratch};
use crate::process::{BrokerCommand, BrokerProcess, CommandOutput};
use crate::test_broker::{OUR_SECRET, parameter};

/// Runs the command against these providers, with `more` lines under `[upstream]`.
async fn check(
    google: &str,
    github: &str,
    more: &str,
    environment: &[(&str, &str)],
) -> CommandOutput {
    let scratch = Scratch::new();
    let config = scratch.write(
        "broker.toml",
        &format!(
            "base_url = \"http://127.0.0.1:8000\"\nstore.url = \"sqlite::memory:\"\n\
             [upstream]\n{more}\n\
             [upstream.google]\nclient_id = \"us\"\nclient_secret = \"{OUR_SECRET}\"\n\
             issuer = \"{google}\"\n\
             [upstream.github]\nclient_id = \"us\"\nclient_secret = \"{OUR_SECRET}\"\n\
             web_url = \"{github}\"\napi_url = \"{github}\"\n"
        ),
    );
    let mut command = BrokerCommand::with("check", &config);
    command.0.arg("--online").envs(environment.iter().copied());
    // The providers run on this thread's runtime.
    let output = spawn_blocking(move || command.output()).await.unwrap();
    assert!(!format!("{}{}", output.out, output.err).contains(OUR_SECRET));
    output
}

/// Asserts that the command fails with these providers, and that its report contains each of
/// these texts.
async fn check_fails(google: &str, github: &str, texts: &[&str]) {
    let output = check(google, github, "timeout_ms = 300", &[]).await;
    assert_eq!(output.code, Some(1), "{}", output.out);
    for text in texts {
        assert!(output.out.contains(text), "{text}\n{}", output.out);
    }
    assert!(output.err.contains("see above"), "{}", output.err);
}

async fn working_providers() -> (FakeProvider, FakeProvider) {
    let (google, github) = (start_google().await, FakeProvider::start().await);
    google.set_reply(KEYS, key_set(&[jwk("one", KEY_ONE), jwk("two", KEY_TWO)]));
    (google, github)
}

#[tokio::test]
async fn each_check_is_reported_with_its_result() {
    let (google, github) = working_providers().await;
    let output = check(&google.url(), &github.url(), "", &[])
        .await
        .succeeded();
    for line in [
        format!("google, discovery of {}: users sign in at", google.url()),
        "google, keys: 2 that sign with RS256, kept for 3600 s".to_owned(),
        format!("github, sign-in at {}: reachable (HTTP 404)", github.url()),
        format!("github, API at {}: reachable (HTTP 404)", github.url()),
    ] {
        assert!(output.out.contains(&line), "{line}\n{}", output.out);
    }
    for server in [google, github] {
        for call in server.calls() {
            assert!(call.line.starts_with("GET ") && !call.head.contains("authorization"));
        }
    }
}

#[tokio::test]
async fn each_failure_is_reported_with_advice_and_fails_the_command() {
    let (google, github) = working_providers().await;
    let nowhere = "http://127.0.0.1:1";
    let (google_url, github_url) = (google.url(), github.url());
    let discovery =
        format!("google, discovery of {nowhere}: FAILED, the provider cannot be reached");
    check_fails(nowhere, &github_url, &[&discovery, "upstream.proxy"]).await;
    let [web, api] = ["sign-in", "API"].map(|it| format!("github, {it} at {nowhere}: FAILED"));
    check_fails(&google_url, nowhere, &[&web, &api]).await;
    for (reply, text) in [
        (Reply::of(500, "text/html", ""), "status page"),
        (Reply::of(429, "text/html", ""), "wait some minutes"),
        (Reply::Close, "closes the connection"),
        (Reply::Silence, "upstream.timeout_ms"),
        (Reply::of(200, "text/html", "<form>"), "seems to answer"),
        (
            Reply::json(&discovery_document(&google_url)),
            "upstream.google.issuer must be exactly",
        ),
    ] {
        let other = FakeProvider::start().await;
        other.set_reply(DISCOVERY, reply);
        check_fails(&other.url(), &github_url, &[text]).await;
    }
    google.set_reply(KEYS, Reply::of(503, "text/html", ""));
    let keys = "google, keys: FAILED, the provider reports an internal error";
    check_fails(&google_url, &github_url, &[keys, "users sign in at"]).await;
}

#[tokio::test]
async fn b12_the_proxy_of_the_environment_is_used_only_if_it_is_configured() {
    let (google, github) = working_providers().await;
    let proxy = FakeProvider::start().await;
    let url = proxy.url();
    let names = "http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY";
    let environment: Vec<_> = names.split(' ').map(|name| (name, url.as_str())).collect();
    let output = check(&google.url(), &github.url(), "", &environment).await;
    output.succeeded();
    assert!(proxy.calls().is_empty());
    let proxied = "proxy = \"environment\"";
    let output = check(&google.url(), &github.url(), proxied, &environment).await;
    assert_eq!(output.code, Some(1));
    let calls = proxy.calls();
    assert!(calls[0].line.contains(&google.url()), "{calls:?}");
}

/// The statuses with which this may come are in `errors.rs`.
#[tokio::test]
async fn wrong_client_credentials_are_an_error_in_the_log_without_a_secret() {
    let github = FakeProvider::start().await;
    let body = r#"{"error":"incorrect_client_credentials"}"#;
    github.set_reply(TOKEN, Reply::of(200, "application/json", body));
    let installation = Installation::new();
    let command = installation.serve_at(&github);
    let command = command.env("BROKER_UPSTREAM__GITHUB__CLIENT_SECRET", OUR_SECRET);
    let broker = BrokerProcess::start(command);
    let returned = broker.coming_back("code=upstream-code").await.send().await;
    let error = parameter(returned.location().unwrap(), "error");
    assert_eq!(error.as_deref(), Some("provider_unavailable"));
    let log = broker.kill();
    let is_advice = |line: &&str| line.contains("upstream.github.client_id and .client_secret");
    let advice: Vec<_> = log.lines().filter(is_advice).collect();
    assert!(advice.len() == 1 && advice[0].contains("ERROR"), "{log}");
    assert!(
        !log.contains(OUR_SECRET) && !log.contains("upstream-code"),
        "{log}"
    );
}
