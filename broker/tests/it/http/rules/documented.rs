//! The statuses and bodies that the published contract documents, each of which a running
//! broker sends. That it sends no other is asserted for every response of every test.

use std::collections::BTreeSet;

use contract::Rule;
use reqwest::Method;
use testkit::http::Response;
use testkit::openapi::{document, operations, unlisted};

use super::faulty_broker::FaultyBroker;
use crate::test_broker::{
    BASE, TestBroker, authorize_path, result_body, session_body, token_body, with,
};

const GET: Method = Method::GET;
const HEAD: Method = Method::HEAD;
const POST: Method = Method::POST;

/// The header of a form on the broker's own page.
const OWN_PAGE: (&str, &str) = ("Origin", BASE);

/// A path that is no operation's, by which the document's `x-unlisted` is meant.
const UNLISTED: &str = "/nowhere";

/// What brokers have answered.
#[derive(Default)]
pub(super) struct Answers {
    /// Method, path template and status.
    statuses: BTreeSet<(String, u16)>,
    /// The JSON of refusals.
    bodies: BTreeSet<String>,
}

impl Answers {
    pub(super) fn add_body(&mut self, refusal: &Response) {
        self.bodies.insert(refusal.json().to_string());
    }

    /// Adds the answers in the audit log of a broker.
    pub(super) fn add_events(&mut self, broker: &TestBroker) {
        let events = broker.every_event().into_iter();
        let answers = events.filter_map(|event| Some((event.operation, event.status?)));
        self.statuses.extend(answers);
    }

    /// Sends a request without a body, and adds its answer.
    async fn add(
        &mut self,
        broker: &TestBroker,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        status: u16,
    ) {
        let operation = format!("{method} {}", template(path));
        let has_body = method != HEAD;
        let response = broker.send(method, path, headers).await;
        assert_eq!(response.status, status, "{operation}: {response:?}");
        self.statuses.insert((operation, status));
        if status >= 400 && has_body {
            self.add_body(&response);
        }
    }

    /// Adds all answers that the rows of the rules do not get.
    pub(super) async fn add_all_others(&mut self) {
        let broker = FaultyBroker::start(Rule::RequestPath).await;
        for (method, path, _) in operations().chain([("GET", UNLISTED, vec![])]) {
            let method: Method = method.parse().unwrap();
            let real = path
                .replace("{handle}", "x")
                .replace("{provider}", "github");
            let leaking = format!("{real}?client_secret=x");
            self.add(&broker, method.clone(), &leaking, &[], 400).await;
            let prefetch = [("Sec-Purpose", "prefetch")];
            self.add(&broker, method.clone(), &real, &prefetch, 503)
                .await;
            let form = broker.request(method.clone(), &real);
            let form = form.header("Content-Type", "application/x-www-form-urlencoded");
            assert_eq!(form.body("_method=put").send().await.status, 415, "{path}");
            self.statuses.insert((format!("{method} {path}"), 415));
        }
        self.add_backends(&broker).await;
        self.add_browsers(&broker).await;
        self.add_events(&broker);
    }

    async fn add_backends(&mut self, broker: &FaultyBroker) {
        let token = broker.access_token().await;
        assert_eq!(broker.profile(&token).await.status, 200);
        self.add(broker, POST, "/v1/revoke", &[], 401).await;
        for path in ["/api/providers", "/openapi.json"] {
            self.add(broker, GET, path, &[], 200).await;
        }
        let bodies = [
            ("/v1/login/result", result_body(1), 400),
            ("/v1/token", token_body("code"), 401),
        ];
        for (path, body, status) in &bodies {
            let large = with(body.clone(), "extra", "x".repeat(33 * 1024));
            broker.refuses(path, &large, 413, "body.size").await;
            let guess = with(body.clone(), "client_secret", "x");
            broker
                .refuses(path, &guess, *status, "client.recognised")
                .await;
        }
        for _ in 0..20 {
            let guess = with(session_body(1), "client_secret", "x");
            broker.post("/v1/login/session", &guess).await;
        }
        for (path, body, _) in bodies {
            let guess = with(body, "client_secret", "x");
            broker.refuses(path, &guess, 429, "client.rate_limit").await;
        }
    }

    async fn add_browsers(&mut self, broker: &FaultyBroker) {
        let (pending, bound) = (broker.session(1).await, broker.session(2).await);
        broker.browser().get(&bound).await;
        let callback = "https%3A%2F%2Fapp.example%2Fcb";
        let back = format!("/return?client_id=prj_ada&redirect_uri={callback}");
        for path in [&authorize_path(), &pending, "/callback/github", &back] {
            self.add(broker, HEAD, path, &[], 200).await;
        }
        self.add(broker, HEAD, "/login/%61", &[], 404).await;
        self.add(broker, HEAD, "/callback/gitlab", &[], 404).await;
        self.add(broker, GET, "/callback/gitlab", &[], 404).await;
        self.add(broker, GET, &back, &[], 303).await;
        self.add(broker, GET, "/return", &[], 400).await;
        for action in ["cancel", "continue"] {
            let unknown = format!("/login/unknown/{action}");
            self.add(broker, POST, &unknown, &[OWN_PAGE], 404).await;
            let bound = format!("{bound}/{action}");
            self.add(broker, POST, &bound, &[OWN_PAGE], 410).await;
            self.add(broker, POST, &bound, &[], 403).await;
        }
        let pending = format!("{pending}/continue");
        self.add(broker, POST, &pending, &[OWN_PAGE], 303).await;
        self.add(broker, POST, "/callback/github", &[], 403).await;
        let mut presses = vec![("/callback/gitlab".to_owned(), String::new(), 404)];
        for status in [303, 429] {
            let (browser, back) = broker.at_provider_in_legacy().await;
            presses.push((back, browser.cookie_header(), status));
        }
        for (path, cookies, status) in presses {
            let press = broker.request(POST, &path).header("Origin", BASE);
            let press = press.header("X-Real-IP", "203.0.113.7");
            let press = press
                .header("Cookie", cookies)
                .form(&[("answer", "continue")]);
            let pressed = press.send().await;
            assert_eq!(pressed.status, status, "{path}: {pressed:?}");
            let operation = format!("POST {}", template(&path));
            self.statuses.insert((operation, status));
        }
    }

    /// Asserts that every documented status was sent, and every example of a refusal.
    pub(super) fn assert_complete(mut self) {
        let listed: BTreeSet<_> = operations()
            .map(|(method, path, _)| format!("{method} {path}"))
            .collect();
        let others = self.statuses.iter().filter(|(it, _)| !listed.contains(it));
        let others: Vec<_> = others
            .map(|(_, status)| (UNLISTED.to_owned(), *status))
            .collect();
        self.statuses.extend(others);
        let documented = operations().flat_map(|(method, path, statuses)| {
            let of = move |status| (format!("{method} {path}"), status);
            statuses.into_iter().map(of)
        });
        let others = unlisted().into_iter();
        let documented = documented.chain(others.map(|status| (UNLISTED.to_owned(), status)));
        let unsent: Vec<_> = documented
            .filter(|it| !self.statuses.contains(it))
            .collect();
        assert!(unsent.is_empty(), "{unsent:?}");
        let document = document();
        let examples = document["components"]["examples"].as_object().unwrap();
        assert!(!examples.is_empty());
        for (name, example) in examples {
            let body = example["value"].to_string();
            assert!(self.bodies.contains(&body), "{name}");
        }
    }
}

/// The path of the document that `path` is of.
fn template(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let mut names: Vec<_> = path.split('/').collect();
    match names[..] {
        ["", "login", _, ..] => names[2] = "{handle}",
        ["", "callback", _] => names[2] = "{provider}",
        _ => {}
    }
    names.join("/")
}
