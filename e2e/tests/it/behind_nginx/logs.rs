//! The logs of nginx: the steps of a sign-in, and no secret.

use reqwest::Method;
use testkit::leak_check::{LeakCheck, suspicious};

use super::nginx::{Nginx, NginxLogs, Ports};
use super::proxied_brokers::ProxiedBrokers;
use super::stub_broker::{StubBroker, StubResponse};
use testkit::browser::UNSERVED;
use testkit::fresh;
use testkit::login::{FLOWS, PROVIDERS};

impl NginxLogs {
    /// Asserts that none of `secrets` is in a line, nor anything that looks like a drawn
    /// value: a handle, a code, a state, a key or a token.
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
        let access = &self.access;
        assert!(access.contains(&expected), "{expected}\n{access}");
    }
}

// Threats: A15.
#[tokio::test]
async fn a_whole_run_leaves_no_secret_in_either_log() {
    let front = ProxiedBrokers::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            front.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    press_button(&front).await;
    front.backend.revoke("no token").await;
    let secrets = visit_invalid_addresses(&front).await;

    let written = front.stop();
    written.has_none_of(&secrets);
    for (method, route, status) in [
        ("POST", "/v1/login/session", 200),
        ("GET", "/login/…", 303),
        ("POST", "/login/…/continue", 303),
        ("GET", "/authorize", 303),
        ("GET", "/callback/google", 303),
        ("GET", "/callback/github", 303),
        ("POST", "/v1/login/result", 200),
        ("POST", "/v1/token", 200),
        ("GET", "/v1/profile", 200),
        ("POST", "/v1/revoke", 401),
        ("GET", "other", 404),
    ] {
        written.has_line(method, route, status);
    }
}

/// A user who follows a foreign link, gets the confirmation page, and continues.
async fn press_button(front: &ProxiedBrokers) {
    let login = front.backend.start_login("google").await;
    let (browser, page) = (front.browser(), &login.authorization_url);
    let seen = browser.type_in(page).await.response.expect("a question");
    assert_eq!(seen.status, 200, "{}", seen.text());
    let action = format!("{page}/continue");
    browser.press_until(page, &action, UNSERVED).await;
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
    let request = request.header("Content-Length", "1000000");
    request.bearer_auth(c).send().await;
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
        let callback = format!("/callback/google?code={code}");
        for path in [format!("/login/{handle}"), callback] {
            let response = nginx.http().get(nginx.url(&path)).send().await;
            assert_eq!(response.status, 503);
        }
        let written = nginx.stop();
        written.has_none_of(&[handle, code]);
        let failures = written.access.matches(r#""upstream":"502""#);
        assert_eq!(failures.count(), 2, "{}", written.access);
        let has_others = written.errors.contains("start worker process");
        assert!(has_others, "the other lines are there");
    }
}
