//! A running broker sends every documented status. That it sends no other is asserted
//! for every response that a suite receives.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

use broker::{Broker, Dependencies};
use reqwest::Method;
use serde_json::{Value, json};
use stack::proxy::Proxy;
use url::Url;

use crate::login::{Flow, GITHUB, GOOGLE};
use crate::test_broker::parts;
use crate::test_stack::TestStack;
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::fresh;
use testkit::http::{Http, Request, Response};
use testkit::openapi::{operations, unlisted};

/// Method, path template and status of the responses so far.
type Seen = RefCell<BTreeSet<(String, String, u16)>>;

/// A path that is no operation's, by which the document's `x-unlisted` is meant.
const UNLISTED: &str = "/nowhere";

/// The default number of wrong secrets in a minute before 429.
const WRONG_SECRETS: u32 = 19;

struct Coverage {
    stack: TestStack,
    seen: Seen,
}

impl Coverage {
    /// Notes how `request`, to the operation of this template, is answered.
    async fn send(&self, method: &str, path: &str, status: u16, request: Request) -> Response {
        let response = request.send().await;
        self.record(method, path, status, response)
    }

    fn record(&self, method: &str, path: &str, status: u16, response: Response) -> Response {
        assert_eq!(response.status, status, "{method} {path}: {response:?}");
        let entry = (method.to_owned(), path.to_owned(), status);
        self.seen.borrow_mut().insert(entry);
        response
    }

    fn request(&self, method: &str, path: &str) -> Request {
        let method = method.parse().expect("a method");
        self.stack.backend.request(method, path)
    }

    async fn post(&self, path: &str, status: u16, body: &Value) -> Response {
        let request = self.request("POST", path).json(body);
        self.send("POST", path, status, request).await
    }

    /// The refusals that every operation has.
    async fn common_refusals(&self, method: &str, path: &str) {
        let real = path
            .replace("{handle}", "handle")
            .replace("{provider}", GITHUB);
        for accept in ["application/json", "text/html"] {
            let request = |query: &str| {
                self.request(method, &format!("{real}{query}"))
                    .header("Accept", accept)
            };
            let leaking = request("?client_secret=x");
            self.send(method, path, 400, leaking).await;
            let form = request("").header("Content-Type", "application/x-www-form-urlencoded");
            self.send(method, path, 415, form.body("_method=put")).await;
            let prefetch = request("").header("Sec-Purpose", "prefetch");
            self.send(method, path, 503, prefetch).await;
        }
    }

    async fn session(&self) {
        let path = "/v1/login/session";
        let backend = &self.stack.backend;
        let whole = || backend.session_body(&fresh::secret(), GITHUB);
        self.post(path, 200, &whole()).await;
        self.post(path, 400, &json!({})).await;
        self.post(path, 401, &with(whole(), "client_secret", "x"))
            .await;
        self.post(path, 413, &with(whole(), "extra", &"x".repeat(33 * 1024)))
            .await;
    }

    async fn result(&self) {
        let path = "/v1/login/result";
        let (stack, backend) = (&self.stack, &self.stack.backend);
        let request = |key: &str| backend.result_body(key);
        let login = backend.start_login(GITHUB).await;
        self.post(path, 200, &request(&login.session_key)).await;
        let completed = request(&stack.completed_login(GOOGLE).await.session_key);
        self.post(path, 200, &completed).await;
        self.post(path, 400, &completed).await;
        self.post(path, 413, &with(completed, "extra", &"x".repeat(33 * 1024)))
            .await;
    }

    async fn exchange(&self) {
        let path = "/v1/token";
        let (stack, backend) = (&self.stack, &self.stack.backend);
        let (transaction, code) = stack.unredeemed_code(GITHUB).await;
        let whole = backend.token_body(&transaction.verifier, &code);
        self.post(path, 401, &with(whole.clone(), "client_id", ""))
            .await;
        let issued = self.post(path, 200, &whole).await;
        let (_, other) = stack.unredeemed_code(GITHUB).await;
        self.post(path, 400, &backend.token_body(&fresh::secret(), &other))
            .await;
        self.post(path, 413, &with(whole, "extra", &"x".repeat(33 * 1024)))
            .await;
        let issued = issued.json();
        let token = issued["access_token"].as_str().expect("a token");
        for (method, path) in [("GET", "/v1/profile"), ("POST", "/v1/revoke")] {
            let request = || self.request(method, path);
            self.send(method, path, 401, request()).await;
            self.send(method, path, 200, request().bearer_auth(token))
                .await;
            let revoked = if method == "POST" { 200 } else { 401 };
            let unknown = format!("fsi_{}", fresh::secret());
            self.send(method, path, revoked, request().bearer_auth(unknown))
                .await;
        }
    }

    /// Wrong secrets of an unknown project, until they are too many.
    async fn wrong_secrets(&self) {
        let backend = &self.stack.backend;
        let unknown_project = |body| with(body, "client_id", "prj_nobody");
        let session = unknown_project(backend.session_body(&fresh::secret(), GITHUB));
        for _ in 0..WRONG_SECRETS {
            self.post("/v1/login/session", 401, &session).await;
        }
        self.post("/v1/login/session", 429, &session).await;
        let result = unknown_project(backend.result_body(&fresh::secret()));
        self.post("/v1/login/result", 429, &result).await;
        let token = unknown_project(backend.token_body(&fresh::secret(), "code"));
        self.post("/v1/token", 429, &token).await;
    }

    async fn browsers(&self) {
        let stack = &self.stack;
        let login = stack.backend.start_login(GITHUB).await;
        let url = &login.authorization_url;
        let (owner, other) = (Browser::new(), Browser::new());
        for (path, url) in [
            ("/authorize", &stack.backend.start_authorization(GITHUB).url),
            ("/login/{handle}", url),
            ("/callback/{provider}", &stack.broker_callback(GITHUB)),
            ("/return", &format!("{}/return", stack.broker())),
        ] {
            self.record("HEAD", path, 200, owner.head(url).await);
        }
        for path in ["/login/{handle}", "/callback/{provider}"] {
            let (prefix, _) = path.split_once('{').expect("a parameter");
            let escaped = self.request("HEAD", &format!("{prefix}%61"));
            self.send("HEAD", path, 404, escaped).await;
        }
        self.record("GET", "/login/{handle}", 303, owner.open(url).await);
        self.record("GET", "/login/{handle}", 410, other.open(url).await);
        let unknown = format!("{}/login/unknown", stack.broker());
        self.record("GET", "/login/{handle}", 404, other.open(&unknown).await);
        let authorize = stack.backend.start_authorization(GITHUB).url;
        self.record("GET", "/authorize", 303, owner.open(&authorize).await);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &stack.backend.client_id)
            .append_pair("redirect_uri", &stack.backend.callback)
            .finish();
        let ours = format!("{}/return?{query}", stack.broker());
        self.record("GET", "/return", 303, owner.open(&ours).await);
        let unknown_project = format!("{}/return?client_id=unknown", stack.broker());
        self.record("GET", "/return", 400, owner.open(&unknown_project).await);
        let unknown = stack.broker_callback("gitlab");
        self.record(
            "GET",
            "/callback/{provider}",
            404,
            owner.open(&unknown).await,
        );
        let halfway = stack.halfway(Flow::Legacy, GOOGLE).await;
        let home = halfway.browser.open(&halfway.answer).await;
        self.record("GET", "/callback/{provider}", 303, home);
        self.question_at_the_callback().await;
    }

    /// A browser that comes back otherwise than it left, and the button that it presses.
    async fn question_at_the_callback(&self) {
        let (broker, path) = (self.stack.broker(), "/callback/{provider}");
        let halfway = self.stack.halfway(Flow::Clean, GOOGLE).await;
        let (browser, back) = (&halfway.browser, &halfway.answer);
        let other = [("User-Agent", "another")];
        self.record("GET", path, 200, browser.open_with(back, &other).await);
        let press = async |page: &str, action: &str, status: u16| {
            let fields = [("answer", "continue")];
            let response = browser.submit(page, action, &fields).await;
            self.record("POST", path, status, response);
        };
        let page = format!("{broker}/");
        press("http://evil.example/", back, 403).await;
        press(&page, &self.stack.broker_callback("gitlab"), 404).await;
        press(&page, back, 303).await;
    }

    /// Two browsers come back from one address, where one a minute is let in.
    async fn rate_limit(&self) {
        let (listener, base_url) = testkit::server::bind();
        let backend = Backend::of(
            &base_url,
            &json!({
                "client_id": "crowded",
                "client_secret": fresh::secret(),
                "redirect_uris": [format!("{UNSERVED}/crowded/back")],
            }),
        );
        let mut config = parts::config(&base_url, UNSERVED, UNSERVED, "secret");
        config.projects = vec![parts::project(&backend, &[&backend.callback])];
        config.ip_header = Some("X-Real-IP".to_owned().try_into().expect("a name"));
        config.limits.callbacks_per_minute = NonZeroU32::MIN;
        let broker = Broker::assemble(config, Dependencies::default()).expect("a broker");
        let broker = parts::launch(broker).await;
        let _proxy = Proxy::start(listener, broker.address, Default::default()).expect("a proxy");
        for status in [303, 429] {
            let browser = Browser::new();
            let away = browser.open(&backend.start_authorization(GITHUB).url).await;
            let away = Url::parse(away.location().expect("the provider")).expect("a URL");
            let mut query = away.query_pairs();
            let (_, state) = query.find(|(name, _)| name == "state").expect("a state");
            let back = format!("{base_url}/callback/{GITHUB}?error=access_denied&state={state}");
            let from = [("X-Real-IP", "203.0.113.7")];
            let response = browser.open_with(&back, &from).await;
            self.record("GET", "/callback/{provider}", status, response);
            if status == 429 {
                let cookies = browser.cookies(&base_url).into_iter();
                let cookies = cookies.map(|(name, value)| format!("{name}={value}"));
                let press = Http::at(&base_url).post(&back).header("Origin", &base_url);
                let press = press.header("X-Real-IP", "203.0.113.7");
                let press = press.header("Cookie", cookies.collect::<Vec<_>>().join("; "));
                let pressed = press.form(&[("answer", "continue")]).send().await;
                self.record("POST", "/callback/{provider}", status, pressed);
            }
        }
    }

    /// The page that asks, and its buttons.
    async fn confirmation_page(&self) {
        let (stack, path) = (&self.stack, "/login/{handle}");
        let handle = async || {
            let login = stack.backend.start_login(GITHUB).await;
            let (_, handle) = login.authorization_url.rsplit_once('/').expect("a path");
            handle.to_owned()
        };
        let typed = self
            .request("GET", &path.replace("{handle}", &handle().await))
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-Dest", "document")
            .header("Sec-Fetch-Site", "none");
        self.send("GET", path, 200, typed).await;
        for action in ["continue", "cancel"] {
            let path = format!("{path}/{action}");
            let press = |handle: &str| {
                let url = path.replace("{handle}", handle);
                self.request("POST", &url).header("Origin", stack.broker())
            };
            let (one, other) = (handle().await, handle().await);
            let elsewhere = press(&one).header("Origin", "http://evil.example");
            self.send("POST", &path, 403, elsewhere).await;
            self.send("POST", &path, 404, press("unknown")).await;
            self.send("POST", &path, 303, press(&one)).await;
            let at = format!("{}/login/{other}", stack.broker());
            Browser::new().open(&at).await;
            self.send("POST", &path, 410, press(&other)).await;
        }
    }

    async fn elsewhere(&self) {
        for path in ["/api/providers", "/openapi.json"] {
            self.send("GET", path, 200, self.request("GET", path)).await;
        }
        self.common_refusals("GET", UNLISTED).await;
        self.send("GET", UNLISTED, 404, self.request("GET", UNLISTED))
            .await;
        let wrong = self.request("DELETE", "/v1/token");
        self.send("GET", UNLISTED, 405, wrong).await;
    }
}

#[tokio::test]
async fn every_status_in_the_document_is_answered_by_the_broker() {
    let coverage = Coverage {
        stack: TestStack::start().await,
        seen: Seen::default(),
    };
    for (method, path, _) in operations() {
        coverage.common_refusals(method, path).await;
    }
    coverage.session().await;
    coverage.result().await;
    coverage.exchange().await;
    coverage.wrong_secrets().await;
    coverage.browsers().await;
    coverage.rate_limit().await;
    coverage.confirmation_page().await;
    coverage.elsewhere().await;
    let listed = operations().chain([("GET", UNLISTED, unlisted())]);
    let documented: BTreeSet<_> = listed
        .flat_map(|(method, path, statuses)| {
            statuses
                .into_iter()
                .map(|status| (method.to_owned(), path.to_owned(), status))
        })
        .collect();
    let seen = coverage.seen.into_inner();
    let unseen: Vec<_> = documented.symmetric_difference(&seen).collect();
    assert!(unseen.is_empty(), "on one side only: {unseen:?}");
}

#[tokio::test]
async fn the_examples_of_refusals_are_the_brokers_bodies() {
    let stack = TestStack::start().await;
    let examples = &testkit::openapi::document()["components"]["examples"];
    let says = async |name: &str, request: Request| {
        let said = request.send().await.json();
        assert_eq!(said, examples[name]["value"], "{name}");
    };
    let request = |method, path: &str| stack.backend.request(method, path);
    says("Refused", request(Method::GET, "/authorize")).await;
    says("NotRecognised", request(Method::GET, "/v1/profile")).await;
    says("NothingHere", request(Method::GET, "/login/unknown")).await;
    says("AnotherMethod", request(Method::PUT, "/v1/token")).await;
    says("NotJson", request(Method::POST, "/v1/token")).await;
    let large = "x".repeat(33 * 1024);
    let large = request(Method::POST, "/v1/token").json(&large);
    says("TooLarge", large).await;
    let unknown_project = with(
        stack.backend.session_body(&fresh::secret(), GITHUB),
        "client_id",
        "prj_nobody",
    );
    let guess = || request(Method::POST, "/v1/login/session").json(&unknown_project);
    for _ in 0..WRONG_SECRETS {
        guess().send().await;
    }
    says("TooMany", guess()).await;
    let prefetch = request(Method::GET, "/authorize").header("Sec-Purpose", "prefetch");
    says("Unavailable", prefetch).await;
    let claimed = stack.backend.start_login(GITHUB).await.authorization_url;
    Browser::new().open(&claimed).await;
    let another = stack
        .backend
        .http
        .get(&claimed)
        .header("Sec-Fetch-Site", "none");
    says("AnotherBrowsers", another).await;
    assert_eq!(examples.as_object().map(serde_json::Map::len), Some(9));
}

fn with(mut body: Value, field: &str, value: &str) -> Value {
    body[field] = value.into();
    body
}
