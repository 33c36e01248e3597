//! The logs of nginx: the steps of a sign-in, and no secret.

use reqwest::Method;
use testkit::leak_check::{LeakCheck, suspicious};

use super::nginx::{Nginx, NginxLogs, Ports};
use super::proxied_brokers::ProxiedBrokers;
use super::stub_broker::{StubBroker, StubResponse};
use crate::login::{FLOWS, Flow, PROVIDERS, StartedLogin, callback_code};
use testkit::browser::{Browser, UNSERVED};
use testkit::fresh;

impl NginxLogs {
    /// Asserts that none of `secrets` is in a line, nor anything that looks like one.
    #[track_caller]
    fn has_none_of(&self, secrets: &[String]) {
        let leak_check = LeakCheck::over(secrets.iter().map(|secret| ("secret", secret)));
        for (name, log) in [("access.log", &self.access), ("error.log", &self.errors)] {
            assert_eq!(leak_check.search(log), [], "in {name}");
            assert_eq!(suspicious(log), None, "in {name}");
        }
    }

    #[track_caller]
    fn has_line(&self, method: &str, route: &str, status: u16) {
        let expected = format!(r#""method":"{method}","route":"{route}","status":{status},"#);
        assert!(
            self.access.contains(&expected),
            "{expected}\n{}",
            self.access
        );
    }
}

// Threats: A15.
#[tokio::test]
async fn a_whole_run_leaves_no_secret_in_either_log() {
    let front = ProxiedBrokers::start().await;
    let mut secrets = vec![front.backend.client_secret.clone()];
    for provider in PROVIDERS {
        for flow in FLOWS {
            secrets.extend(sign_in(&front, flow, provider).await);
        }
    }
    secrets.extend(press_button(&front).await);
    secrets.extend(visit_invalid_addresses(&front).await);
    assert!(secrets.len() > 30, "{}", secrets.len());

    let written = front.stop();
    written.has_none_of(&secrets);
    written.has_line("POST", "/v1/login/session", 200);
    written.has_line("GET", "/login/…", 303);
    written.has_line("POST", "/login/…/continue", 303);
    written.has_line("GET", "/authorize", 303);
    written.has_line("GET", "/callback/google", 303);
    written.has_line("GET", "/callback/github", 303);
    written.has_line("POST", "/v1/login/result", 200);
    written.has_line("POST", "/v1/token", 200);
    written.has_line("GET", "/v1/profile", 200);
    written.has_line("POST", "/v1/revoke", 200);
    written.has_line("GET", "other", 404);
}

/// A login to its end; its secrets.
async fn sign_in(front: &ProxiedBrokers, flow: Flow, provider: &str) -> Vec<String> {
    let backend = &front.backend;
    let started = flow.start(backend, provider).await;
    let browser = front.browser();
    let end = browser.follow(started.url()).await;
    let mut secrets = secrets_of(&browser);
    match &started {
        StartedLogin::Clean(login) => {
            let response = backend.result(&login.session_key).await;
            assert_eq!(response.json()["status"], "succeeded");
            secrets.push(login.session_key.clone());
        }
        StartedLogin::Legacy(transaction) => {
            let code = callback_code(backend, transaction, &end.url);
            let token = backend.token(transaction, &code).await;
            assert_eq!(backend.profile(&token).await.status, 200);
            assert_eq!(backend.revoke(&token).await.status, 200);
            secrets.extend([code, token, transaction.verifier.clone()]);
        }
    }
    secrets
}

/// A user who follows a foreign link, gets the confirmation page, and continues.
async fn press_button(front: &ProxiedBrokers) -> Vec<String> {
    let login = front.backend.start_login("google").await;
    let (browser, page) = (front.browser(), &login.authorization_url);
    let seen = browser.type_in(page).await.response.expect("a question");
    assert_eq!(seen.status, 200, "{}", seen.text());
    let action = format!("{page}/continue");
    browser.press_until(page, &action, UNSERVED).await;
    secrets_of(&browser)
}

/// Requests that go wrong with a secret where none belongs.
async fn visit_invalid_addresses(front: &ProxiedBrokers) -> Vec<String> {
    let secrets: Vec<_> = (0..6).map(|_| fresh::secret()).collect();
    let [a, b, c, d, e, f] = &secrets[..] else {
        unreachable!("there are six");
    };
    let client = front.nginx.http();
    let referer = front.nginx.url(&format!("/login/{f}"));
    for path in [
        format!("/login/{a}"),
        format!("//login/{b}/"),
        format!("/%6cogin/{c}?{d}"),
        format!("/api/providers?session_key={e}"),
        format!("/{f}"),
        format!("/callback/google/{a}"),
        format!("/login/{b}/continue/{c}"),
        format!("/login/{}{d}", "a".repeat(9000)),
    ] {
        let request = client.get(front.nginx.url(&path));
        let response = request.header("Referer", &referer).send().await;
        assert!(response.status >= 400, "{path}: {}", response.status);
        // Refused, or hung up on.
        let _ = client.get(front.nginx.url_in_clear(&path)).try_send().await;
    }
    let request = client.request(Method::POST, front.nginx.url("/v1/token"));
    let request = request.header("User-Agent", a).header("X-Request-Id", b);
    request
        .header("Content-Length", "1000000")
        .bearer_auth(c)
        .send()
        .await;
    secrets
}

/// Handles, codes and states in the addresses that a browser went to, and its cookies.
fn secrets_of(browser: &Browser) -> Vec<String> {
    let mut secrets = Vec::new();
    for step in browser.steps() {
        let url = url::Url::parse(&step.url).expect("an address");
        let handle = url.path().strip_prefix("/login/");
        let handle = handle.and_then(|it| it.split('/').next());
        secrets.extend(handle.map(ToOwned::to_owned));
        for (name, value) in url.query_pairs() {
            if name == "code" || name == "state" || name == "code_challenge" {
                secrets.push(value.into_owned());
            }
        }
    }
    assert!(!secrets.is_empty(), "it went nowhere");
    secrets
}

// Threats: A15.
#[tokio::test]
async fn a_failing_broker_leaves_no_secret_in_either_log() {
    let broker = StubBroker::answering(StubResponse::Closes).await;
    let unreachable = std::net::SocketAddr::from(([127, 0, 0, 82], 9));
    for broker in [broker.address, unreachable] {
        let nginx = Nginx::start(Ports::draw(), &[broker], &[]);
        let (handle, code) = (fresh::secret(), fresh::secret());
        for path in [
            format!("/login/{handle}"),
            format!("/callback/google?code={code}"),
        ] {
            let response = nginx.http().get(nginx.url(&path)).send().await;
            assert_eq!(response.status, 503);
        }
        let written = nginx.stop();
        written.has_none_of(&[handle, code]);
        let failures = written.access.matches(r#""upstream":"502""#);
        assert_eq!(failures.count(), 2, "{}", written.access);
        assert!(
            written.errors.contains("start worker process"),
            "the other lines are there"
        );
    }
}
