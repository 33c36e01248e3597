//! `broker check --online`: what it asks, what it finds, what it advises.

use std::process::Stdio;

use super::script::{Reply, Script};
use super::stage::{DISCOVERY, KEY_ONE, KEY_TWO, KEYS, OUR_SECRET, discovery_of, jwk, keys};
use crate::scratch::Scratch;

struct CommandOutput {
    is_success: bool,
    out: String,
    err: String,
}

/// Runs the command against these two, with more lines under `[upstream]`.
async fn check(
    google: &str,
    github: &str,
    more: &str,
    environment: &[(&str, &str)],
) -> CommandOutput {
    let text = format!(
        "base_url = \"http://127.0.0.1:8000\"\nstore.url = \"sqlite::memory:\"\n\
         [upstream]\n{more}\n\
         [upstream.google]\nclient_id = \"us\"\nclient_secret = \"{OUR_SECRET}\"\n\
         issuer = \"{google}\"\n\
         [upstream.github]\nclient_id = \"us\"\nclient_secret = \"{OUR_SECRET}\"\n\
         web_url = \"{github}\"\napi_url = \"{github}\"\n"
    );
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", &text);
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_broker"))
        .args(["check", "--online", "--config", path.to_str().unwrap()])
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let said = CommandOutput {
        is_success: output.status.success(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!format!("{}{}", said.out, said.err).contains(OUR_SECRET));
    said
}

async fn honest() -> (Script, Script) {
    let (google, github) = (Script::start().await, Script::start().await);
    google.replies(DISCOVERY, Reply::json(&discovery_of(&google.url())));
    google.replies(KEYS, keys(&[jwk("one", KEY_ONE), jwk("two", KEY_TWO)]));
    (google, github)
}

#[tokio::test]
async fn it_says_what_it_found() {
    let (google, github) = honest().await;
    let said = check(&google.url(), &github.url(), "", &[]).await;
    assert!(said.is_success, "{}{}", said.out, said.err);
    for line in [
        format!("google, discovery of {}: users sign in at", google.url()),
        "google, keys: 2 that sign with RS256, kept for 3600 s".to_owned(),
        format!("github, sign-in at {}: answers (404)", github.url()),
        format!("github, API at {}: answers (404)", github.url()),
    ] {
        assert!(said.out.contains(&line), "{line}\n{}", said.out);
    }
    for script in [google, github] {
        for call in script.calls() {
            assert!(call.line.starts_with("GET ") && !call.head.contains("authorization"));
        }
    }
}

#[tokio::test]
async fn each_failure_comes_with_an_advice_and_fails_the_command() {
    let (google, github) = honest().await;
    let nowhere = "http://127.0.0.1:1";
    let said = check(nowhere, &github.url(), "", &[]).await;
    said.failed("google, discovery of http://127.0.0.1:1: FAILED, the provider cannot be reached");
    said.failed("upstream.proxy");

    let said = check(&google.url(), nowhere, "", &[]).await;
    said.failed("github, API at http://127.0.0.1:1: FAILED");
    assert!(said.err.contains("2 checks"), "{}", said.err);

    for (reply, says) in [
        (Reply::of(500, "text/html", ""), "status page"),
        (Reply::of(429, "text/html", ""), "wait some minutes"),
        (Reply::Close, "closes the connection"),
        (Reply::Silence, "upstream.timeout_ms"),
        (Reply::of(200, "text/html", "<form>"), "seems to answer"),
    ] {
        let google = Script::start().await;
        google.replies(DISCOVERY, reply);
        let said = check(&google.url(), &github.url(), "timeout_ms = 300", &[]).await;
        said.failed(says);
    }
    let liar = Script::start().await;
    liar.replies(DISCOVERY, Reply::json(&discovery_of(&google.url())));
    let said = check(&liar.url(), &github.url(), "", &[]).await;
    said.failed("upstream.google.issuer must be exactly");

    google.replies(KEYS, Reply::of(503, "text/html", ""));
    let said = check(&google.url(), &github.url(), "", &[]).await;
    said.failed("google, keys: FAILED, the provider reports an internal error");
    assert!(said.out.contains("users sign in at"), "{}", said.out);
}

impl CommandOutput {
    #[track_caller]
    fn failed(&self, says: &str) {
        assert!(!self.is_success, "{}", self.out);
        assert!(self.out.contains(says), "{says}\n{}", self.out);
        assert!(self.err.contains("see above"), "{}", self.err);
    }
}

#[tokio::test]
async fn b12_the_environments_proxy_counts_only_if_the_configuration_says_so() {
    let (google, github) = honest().await;
    let proxy = Script::start().await;
    let url = proxy.url();
    let environment = [
        ("http_proxy", url.as_str()),
        ("HTTP_PROXY", &url),
        ("https_proxy", &url),
        ("HTTPS_PROXY", &url),
        ("all_proxy", &url),
        ("ALL_PROXY", &url),
    ];
    let said = check(&google.url(), &github.url(), "", &environment).await;
    assert!(said.is_success, "{}", said.out);
    assert!(proxy.calls().is_empty());
    let said = check(
        &google.url(),
        &github.url(),
        "proxy = \"environment\"",
        &environment,
    )
    .await;
    assert!(!said.is_success);
    let calls = proxy.calls();
    assert!(calls[0].line.contains(&google.url()), "{calls:?}");
}
