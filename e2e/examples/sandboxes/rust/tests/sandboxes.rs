//! Hundreds of tests at once, each in its sandbox: `just test-sandboxes`.
//!
//! Each moves the clock, queues a user and arms a fault, and signs in as the backend of a
//! consumer would. It fails if it meets the clock, the user or the fault of another. To see
//! that, name one sandbox for all of them in `ONE_SANDBOX`: the JSON that made it.

#![expect(
    clippy::disallowed_methods,
    reason = "a copy of these files has no modules for the environment and for randomness"
)]

mod sandbox;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;
use sandbox::Sandbox;
use serde_json::{Value, json};

const READ: &str = "POST /v1/login/result";

/// A consumer's backend, with the one login that it starts.
struct Consumer<'a> {
    sandbox: &'a Sandbox,
    body: Value,
}

impl<'a> Consumer<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let project = &sandbox.made["projects"][0];
        let key: [u8; 32] = rand::random();
        let body = json!({
            "client_id": project["client_id"],
            "client_secret": project["client_secret"],
            "session_key": URL_SAFE_NO_PAD.encode(key),
            "redirect_uri": project["redirect_uris"][0],
        });
        Self { sandbox, body }
    }

    /// Starts the login, and returns the URL for the browser.
    fn start(&self, provider: &str) -> String {
        let mut body = self.body.clone();
        body["provider"] = json!(provider);
        let answer = json(self.post("/v1/login/session", &body).unwrap());
        answer["authorization_url"].as_str().unwrap().to_owned()
    }

    /// Reads the result.
    fn read(&self) -> reqwest::Result<Value> {
        self.post("/v1/login/result", &self.body).map(json)
    }

    fn post(&self, path: &str, body: &Value) -> reqwest::Result<Response> {
        let broker = self.sandbox.made["broker"].as_str().unwrap();
        Client::new()
            .post(format!("{broker}{path}"))
            .json(body)
            .send()
    }

    /// The browser's part: follows the redirects from `url` to the callback.
    fn browse(&self, url: &str) {
        let browser = Client::builder()
            .redirect(Policy::none())
            .cookie_store(true);
        let browser = browser.build().unwrap();
        let mut url: reqwest::Url = url.parse().unwrap();
        while url.as_str() != self.body["redirect_uri"] {
            let answer = browser.get(url.clone()).send().unwrap();
            let location = answer.headers().get("location");
            let location = location.unwrap_or_else(|| panic!("{url}: {}", answer.status()));
            url = url.join(location.to_str().unwrap()).unwrap();
        }
    }
}

fn json(answer: Response) -> Value {
    let (status, text) = (answer.status(), answer.text().unwrap());
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn sign_in_meets_the_clock_the_user_and_the_fault_of_its_own(sandbox: &Sandbox, number: usize) {
    let provider = ["google", "github"][number % 2];
    let seconds = 400 + number % 199;
    let person = json!({ "id": (1_000_000 + number).to_string() });
    let consumer = Consumer::new(sandbox);
    let url = consumer.start(provider);
    // A login lasts for 600 seconds: it outlives one such advance, and not two.
    sandbox.call("POST", "/api/clock/advance", json!({ "seconds": seconds }));
    let next = format!("/api/upstreams/{provider}/next");
    sandbox.call("POST", &next, json!({ "person": person }));
    let second = json!({ "operation": READ, "fault": "refuse", "nth": 2 });
    sandbox.call("POST", "/api/faults", second);

    assert_eq!(consumer.read().unwrap(), json!({ "status": "pending" }));
    consumer.browse(&url);
    assert!(consumer.read().is_err(), "the second read is refused");
    assert_eq!(
        consumer.read().unwrap()["profile"]["providerSubject"],
        person["id"]
    );

    let ask = |path| sandbox.call("GET", path, Value::Null);
    assert_eq!(
        ask("/api/clock")["advanced_seconds"].as_f64(),
        Some(seconds as f64)
    );
    assert_eq!(ask("/api/faults"), json!([]));
    let logins = ask("/api/logins");
    assert_eq!(logins.as_array().map(Vec::len), Some(1));
    assert_eq!(logins[0]["state"], "consumed");
}

/// An eighth of the sign-ins, each in a sandbox of its own, or all in the one.
fn sign_ins_of(worker: usize) {
    let all = std::env::var("SANDBOX_TESTS").map_or(40, |it| it.parse().unwrap());
    for number in (worker..all).step_by(8) {
        let sandbox = match std::env::var("ONE_SANDBOX") {
            // With KEEP_SANDBOX=1, or the first test to end would end it.
            Ok(made) => Sandbox {
                made: serde_json::from_str(&made).unwrap(),
            },
            Err(_) => Sandbox::new(&format!("sign-in {number}")),
        };
        sign_in_meets_the_clock_the_user_and_the_fault_of_its_own(&sandbox, number);
    }
}

macro_rules! workers {
    ($($name:ident = $number:literal),+) => {
        $(#[test] fn $name() { sign_ins_of($number); })+
    };
}

workers!(
    the_first_worker = 0,
    the_second_worker = 1,
    the_third_worker = 2,
    the_fourth_worker = 3,
    the_fifth_worker = 4,
    the_sixth_worker = 5,
    the_seventh_worker = 6,
    the_eighth_worker = 7
);
