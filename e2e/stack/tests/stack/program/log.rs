//! The log of the program, as its user reads it.

use agent::program::Signal;
use serde_json::json;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::Http;

use super::running::{LIMIT, Running, stack, word_after};

/// The width of a line, in characters.
const MAX_WIDTH: usize = 120;

#[tokio::test]
async fn its_lines_are_short_and_a_refusal_leads_to_its_page() {
    let running = Running::spawn_with_log(stack(&[]), &["--automatic"]);
    let control = running.url_of("inspector");
    let value = |what: &str| word_after(&running.banner, what);
    let backend = Backend::new(
        &running.url_of("broker"),
        &value("client_id"),
        &value("client_secret"),
        &value("callbacks"),
    );
    sign_in(&backend, &control, &value("callbacks")).await;
    let http = Http::new();
    let nowhere = format!("{}/nowhere?secret=hunter2", backend.broker());
    assert_eq!(http.get(nowhere).send().await.status, 404);

    // The lines are written before the answers.
    let log = log_until(running, "This path does not exist", &control).await;
    for line in log.lines() {
        assert!(line.chars().count() <= MAX_WIDTH, "{line}");
    }
    for part in [
        "consumer → broker POST /v1/login/session  200 opened",
        "browser → broker GET /login/…  303 bound (vouched)",
        "WARN         injected lose_response on POST /v1/login/result",
        "The result was read before · result.once",
    ] {
        assert!(log.contains(part), "{part} in\n{log}");
    }
    for part in ["/api/providers", "/readyz", "hunter2"] {
        assert!(!log.contains(part), "{part} in\n{log}");
    }
}

/// Signs in from a page of the project, loses the result, and reads it again.
async fn sign_in(backend: &Backend, control: &str, page: &str) {
    let login = backend.start_login("google").await;
    let browser = Browser::new().on_page(page);
    browser.follow(&login.authorization_url).await;
    let fault = json!({ "operation": "POST /v1/login/result", "fault": "lose_response" });
    let armed = Http::new()
        .post(format!("{control}/api/faults"))
        .json(&fault);
    assert_eq!(armed.send().await.status, 201);
    let body = backend.result_body(&login.session_key);
    let url = format!("{}/v1/login/result", backend.broker());
    let lost = Http::new().post(&url).json(&body).try_send().await;
    assert!(lost.is_err(), "the answer arrived");
    assert_eq!(backend.result(&login.session_key).await.status, 400);
    assert_eq!(backend.providers().await.status, 200);
}

/// The whole log of a program that is stopped once it has logged `end`. Follows every link
/// in it before that.
async fn log_until(mut running: Running, end: &str, control: &str) -> String {
    let errors = &running.program.errors;
    let log = errors.find(LIMIT, |log| {
        // The link is the last line of a refusal.
        (log.contains(end) && log.ends_with("/others\n")).then(|| log.to_owned())
    });
    let log = log.unwrap_or_else(|log| panic!("no {end}:\n{log}"));
    let links: Vec<_> = log
        .split_whitespace()
        .filter(|it| it.starts_with(control))
        .collect();
    assert!(links.len() >= 2, "{log}");
    for link in links {
        assert_eq!(Http::new().get(link).send().await.status, 200, "{link}");
    }
    running.ended_by(Signal::TERM);
    log
}
