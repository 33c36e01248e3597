//! The stack over TLS: its URLs, its certificate authority, and the flows, faults and
//! misbehaviours behind it.

use mock_upstream::Misbehaviour;
use reqwest::Certificate;
use serde_json::{Value, json};
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackSettings};
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::http::{Http, client_builder};

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};

/// A stack over TLS, and a client that trusts it.
struct TlsStack {
    stack: Stack,
    http: Http,
}

impl TlsStack {
    async fn start() -> Self {
        Self::start_with(StackSettings::for_tests()).await
    }

    async fn start_with(settings: StackSettings) -> Self {
        let settings = StackSettings {
            https: true,
            ..settings
        };
        let stack = Stack::start(settings).await.expect("free ports");
        let client = client_builder().tls_certs_only([authority_of(&stack)]);
        let http = Http::new().with_client(client.build().expect("a client"));
        Self { stack, http }
    }

    fn browser(&self) -> Browser {
        Browser::with_http(self.http.clone())
    }

    /// The JSON that the control address answers.
    async fn control(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.stack.urls().control);
        self.http.get(url).send().await.json()
    }

    /// The backend of a project of the test's own.
    async fn backend(&self) -> Backend {
        let urls = self.stack.urls();
        let project = json!({ "name": "Mine", "redirect_uris": [format!("{UNSERVED}/back")] });
        let request = self.http.post(format!("{}/api/projects", urls.control));
        let project = request.json(&project).send().await.json();
        let backend = Backend::of(&urls.broker, &project);
        let http = Http::at(&urls.broker);
        let client = client_builder().tls_certs_only([authority_of(&self.stack)]);
        Backend {
            http: http.with_client(client.build().expect("a client")),
            ..backend
        }
    }

    /// Signs in at the demo, from its button to the profile.
    async fn sign_in(&self, browser: &Browser, flow: Flow, provider: &str) -> String {
        let demo = &self.stack.urls().consumer;
        let button = match flow {
            Flow::Clean => format!("{demo}/login/{provider}"),
            Flow::Legacy => format!("{demo}/legacy/login/{provider}"),
        };
        let home = format!("{demo}/");
        let end = browser.press_until(&home, &button, UNSERVED).await;
        assert_eq!(end.url, format!("{demo}/profile"));
        end.response.expect("a page").text().to_owned()
    }
}

fn authority_of(stack: &Stack) -> Certificate {
    let path = stack.ca_file().expect("the stack has TLS");
    let pem = std::fs::read(path).expect("a file");
    Certificate::from_pem(&pem).expect("a certificate")
}

#[tokio::test]
async fn every_server_is_reached_by_https_and_only_by_a_client_that_trusts_the_authority() {
    let tls = TlsStack::start().await;
    let urls = tls.stack.urls();
    for url in [
        &urls.consumer,
        &urls.broker,
        &urls.control,
        &urls.google,
        &urls.github,
    ] {
        assert!(url.starts_with("https://"), "{url}");
        assert!(tls.http.get(url).try_send().await.is_ok(), "{url}");
        let untrusting = client_builder().build().expect("a client");
        let untrusting = Http::new().with_client(untrusting);
        assert!(untrusting.get(url).try_send().await.is_err(), "{url}");
        let plain = url.replace("https://", "http://");
        let refused = Http::new().get(plain).send().await;
        assert_eq!(refused.status, 400, "{url}");
    }
}

#[tokio::test]
async fn a_user_signs_in_at_the_demo_by_both_flows_and_providers() {
    let tls = TlsStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let browser = tls.browser();
            let page = tls.sign_in(&browser, flow, provider).await;
            assert!(page.contains("Ada Lovelace"), "{page}");
            let cookies = browser.cookies(&tls.stack.urls().consumer);
            assert!(
                cookies.keys().all(|name| name.starts_with("__Host-")),
                "{cookies:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_reset_starts_a_broker_behind_the_same_front() {
    let tls = TlsStack::start().await;
    tls.stack.reset().await.expect("a fresh broker");
    tls.sign_in(&tls.browser(), Flow::Clean, GOOGLE).await;
}

#[tokio::test]
async fn the_control_address_names_the_file_of_the_authority() {
    let tls = TlsStack::start().await;
    let described = tls.control("/api/stack").await;
    let path = tls.stack.ca_file().expect("the stack has TLS");
    assert_eq!(described["ca_file"], path.to_str().expect("text"));

    let plain = Stack::start(StackSettings::for_tests())
        .await
        .expect("free ports");
    let url = format!("{}/api/stack", plain.urls().control);
    assert_eq!(
        Http::new().get(url).send().await.json()["ca_file"],
        Value::Null
    );
    assert_eq!(plain.ca_file(), None);
}

#[tokio::test]
async fn the_control_address_accepts_its_own_origin_with_the_scheme_in_use() {
    let tls = TlsStack::start().await;
    let control = &tls.stack.urls().control;
    let plain = control.replace("https://", "http://");
    for (origin, status) in [(control, 200), (&plain, 403)] {
        let request = tls.http.get(format!("{control}/api/stack"));
        let response = request.header("Origin", origin).send().await;
        assert_eq!(response.status, status, "{origin}");
    }
}

#[tokio::test]
async fn faults_of_the_proxy_reach_the_client_through_tls() {
    let tls = TlsStack::start().await;
    let providers = format!("{}/api/providers", tls.stack.urls().broker);
    for fault in [Fault::Refuse, Fault::LoseResponse, Fault::Truncate] {
        let operation = "GET /api/providers".parse().expect("an operation");
        tls.stack
            .faults()
            .arm(FaultInjection::next(operation, fault));
        let lost = tls.http.get(&providers).try_send().await;
        assert!(lost.is_err(), "{fault:?}");
        assert_eq!(tls.http.get(&providers).send().await.status, 200);
    }
}

#[tokio::test]
async fn misbehaviours_of_a_provider_reach_the_broker_through_tls() {
    let tls = TlsStack::start().await;
    let backend = tls.backend().await;
    for misbehaviour in [
        Misbehaviour::Reset,
        Misbehaviour::ResetAfterHeaders,
        Misbehaviour::CutShort,
    ] {
        let github = tls.stack.upstream().github();
        let next = mock_upstream::Next::Misbehave(misbehaviour);
        github.queue(next).expect("one of its own");
        let login = backend.start_login(GITHUB).await;
        tls.browser().follow(&login.authorization_url).await;
        let result = backend.result(&login.session_key).await.json();
        assert_eq!(result["error"], "provider_unavailable", "{misbehaviour:?}");
    }
}

/// Makes a sandbox at the stack, and signs in there over TLS.
async fn sign_in_at_a_sandbox(control: &Http) -> Value {
    let wish = json!({ "https": true, "consumer": true });
    let made = control.post("/api/sandboxes").json(&wish).send().await;
    assert_eq!(made.status, 201, "{}", made.text());
    let sandbox = made.json();
    let pem = std::fs::read(sandbox["ca_file"].as_str().expect("a path")).expect("a file");
    let ca = Certificate::from_pem(&pem).expect("a certificate");
    let client = client_builder().tls_certs_only([ca]).build();
    let browser = Browser::with_http(Http::new().with_client(client.expect("a client")));
    let demo = sandbox["consumer"].as_str().expect("a URL");
    assert!(demo.starts_with("https://"), "{demo}");
    let (page, button) = (format!("{demo}/"), format!("{demo}/login/google"));
    let end = browser.press_until(&page, &button, UNSERVED).await;
    assert_eq!(end.url, format!("{demo}/profile"));
    sandbox
}

#[tokio::test]
async fn sandboxes_beside_a_stack_on_http_have_one_authority_in_common() {
    let stack = Stack::start(StackSettings::for_tests())
        .await
        .expect("free ports");
    let control = Http::at(&stack.urls().control);
    let one = sign_in_at_a_sandbox(&control).await;
    let other = sign_in_at_a_sandbox(&control).await;
    assert_eq!(one["ca_file"], other["ca_file"]);
    assert_eq!(stack.ca_file(), None);
    let plain = control.post("/api/sandboxes").send().await.json();
    assert_eq!(plain["ca_file"], Value::Null);
    assert!(
        plain["broker"]
            .as_str()
            .expect("a URL")
            .starts_with("http://")
    );
}

#[tokio::test]
async fn a_sandbox_beside_a_stack_over_tls_has_its_authority() {
    let tls = TlsStack::start().await;
    let sandboxes = format!("{}/api/sandboxes", tls.stack.urls().control);
    let sandbox = tls.http.post(sandboxes).send().await.json();
    let path = tls.stack.ca_file().expect("the stack has TLS");
    assert_eq!(sandbox["ca_file"], path.to_str().expect("text"));
    let broker = sandbox["broker"].as_str().expect("a URL");
    assert!(broker.starts_with("https://"), "{broker}");
}
