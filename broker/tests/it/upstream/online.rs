//! The providers as an operator sees them: the calls, the report and the advice of
//! `broker check --online`, and in the log a provider that refuses our own client
//! credentials.

use contract::Provider::{GitHub, Google};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::{DISCOVERY, KEY_ONE, KEY_TWO, KEYS, discovery_document, jwk, key_set, start_google};
use crate::fake_provider::{FakeProvider, Reply, TOKEN};
use crate::installation::{Installation, Scratch};
use crate::process::{BrokerCommand, CommandOutput};
use crate::test_broker::{OUR_SECRET, authorize_path, parameter};

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

/// Asserts that the command failed, and that its report contains `text`.
#[track_caller]
fn failed(output: &CommandOutput, text: &str) {
    assert_eq!(output.code, Some(1), "{}", output.out);
    assert!(output.out.contains(text), "{text}\n{}", output.out);
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
    let output = check(&google.url(), &github.url(), "", &[]).await;
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
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
    let output = check(nowhere, &github.url(), "", &[]).await;
    failed(
        &output,
        "google, discovery of http://127.0.0.1:1: FAILED, the provider cannot be reached",
    );
    failed(&output, "upstream.proxy");

    let output = check(&google.url(), nowhere, "", &[]).await;
    failed(&output, "github, API at http://127.0.0.1:1: FAILED");
    assert!(
        output.err.contains("2 provider checks failed"),
        "{}",
        output.err
    );

    for (reply, text) in [
        (Reply::of(500, "text/html", ""), "status page"),
        (Reply::of(429, "text/html", ""), "wait some minutes"),
        (Reply::Close, "closes the connection"),
        (Reply::Silence, "upstream.timeout_ms"),
        (Reply::of(200, "text/html", "<form>"), "seems to answer"),
    ] {
        let google = FakeProvider::start().await;
        google.set_reply(DISCOVERY, reply);
        let output = check(&google.url(), &github.url(), "timeout_ms = 300", &[]).await;
        failed(&output, text);
    }
    let other = FakeProvider::start().await;
    other.set_reply(DISCOVERY, Reply::json(&discovery_document(&google.url())));
    let output = check(&other.url(), &github.url(), "", &[]).await;
    failed(&output, "upstream.google.issuer must be exactly");

    google.set_reply(KEYS, Reply::of(503, "text/html", ""));
    let output = check(&google.url(), &github.url(), "", &[]).await;
    failed(
        &output,
        "google, keys: FAILED, the provider reports an internal error",
    );
    assert!(output.out.contains("users sign in at"), "{}", output.out);
}

#[tokio::test]
async fn b12_the_proxy_of_the_environment_is_used_only_if_it_is_configured() {
    let (google, github) = working_providers().await;
    let proxy = FakeProvider::start().await;
    let url = proxy.url();
    let names = "http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY";
    let environment: Vec<_> = names.split(' ').map(|name| (name, url.as_str())).collect();
    let output = check(&google.url(), &github.url(), "", &environment).await;
    assert_eq!(output.code, Some(0), "{}", output.out);
    assert!(proxy.calls().is_empty());
    let proxied = "proxy = \"environment\"";
    let output = check(&google.url(), &github.url(), proxied, &environment).await;
    assert_eq!(output.code, Some(1));
    let calls = proxy.calls();
    assert!(calls[0].line.contains(&google.url()), "{calls:?}");
}

/// The statuses with which a provider may refuse our credentials.
const REFUSING: [u16; 8] = [200, 400, 401, 403, 404, 422, 429, 503];

#[tokio::test]
async fn wrong_client_credentials_are_an_error_in_the_log_without_a_secret() {
    let (google, github) = (start_google().await, FakeProvider::start().await);
    let installation = Installation::new();
    let broker = installation.serve_with(&[
        ("BROKER_UPSTREAM__GOOGLE__CLIENT_ID", "us"),
        ("BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET", OUR_SECRET),
        ("BROKER_UPSTREAM__GOOGLE__ISSUER", &google.url()),
        ("BROKER_UPSTREAM__GITHUB__CLIENT_SECRET", OUR_SECRET),
        ("BROKER_UPSTREAM__GITHUB__WEB_URL", &github.url()),
        ("BROKER_UPSTREAM__GITHUB__API_URL", &github.url()),
    ]);
    let refusals = [
        (GitHub, &github, "incorrect_client_credentials"),
        (Google, &google, "invalid_client"),
    ];
    for status in REFUSING {
        for (provider, server, error) in refusals {
            let body = json!({ "error": error }).to_string();
            server.set_reply(TOKEN, Reply::of(status, "application/json", body));
            let (browser, own) = (broker.browser(), provider.as_str());
            let path = authorize_path().replace("github", own);
            let back = browser.to_provider(&path).await.replace("github", own);
            let returned = browser.get(&back).await;
            let error = parameter(returned.location().unwrap(), "error");
            assert_eq!(error.as_deref(), Some("provider_unavailable"), "{status}");
        }
    }
    let log = broker.kill();
    for (provider, ..) in refusals {
        let names = format!("upstream.{provider}.client_id and .client_secret");
        let errors = log.lines().filter(|line| line.contains(&names));
        let errors = errors.filter(|line| line.contains("ERROR"));
        assert_eq!(errors.count(), REFUSING.len(), "{log}");
    }
    assert!(
        !log.contains(OUR_SECRET) && !log.contains("upstream-code"),
        "{log}"
    );
}
