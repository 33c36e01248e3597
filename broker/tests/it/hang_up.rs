//! Clients that hang up during their request: the broker completes it all the same.

use reqwest::Method;
use testkit::http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::broker_process::BrokerProcess;
use crate::installation::Installation;
use crate::slow_github::SlowGitHub;
use crate::test_broker::{
    Browser, CALLBACK, HeldStore, TestBroker, authorize_path, result_body, sign_in, token_body,
};

/// The bytes of a request: no client library sends one and hangs up.
fn bytes(request: &reqwest::Request) -> Vec<u8> {
    let url = &request.url()[url::Position::BeforePath..];
    let body = request.body().and_then(|body| body.as_bytes());
    let body = body.unwrap_or_default();
    let mut bytes = format!("{} {url} HTTP/1.1\r\nHost: broker\r\n", request.method());
    for (name, value) in request.headers() {
        bytes += &format!("{name}: {}\r\n", value.to_str().unwrap());
    }
    bytes += &format!("Content-Length: {}\r\n\r\n", body.len());
    [bytes.as_bytes(), body].concat()
}

/// A connection after one request.
struct Call(TcpStream);

impl Call {
    async fn send(request: Request) -> Self {
        let request = request.build();
        let authority = &request.url()[url::Position::BeforeHost..url::Position::AfterPort];
        let mut connection = TcpStream::connect(authority).await.unwrap();
        connection.write_all(&bytes(&request)).await.unwrap();
        Self(connection)
    }

    /// Hangs up, and waits until the broker closes the connection, too.
    async fn hang_up(mut self) {
        self.0.shutdown().await.unwrap();
        let mut response = Vec::new();
        // It may also be reset.
        let _ = self.0.read_to_end(&mut response).await;
        assert_eq!(response, b"", "there is no response");
    }
}

/// A browser that hangs up during the call to its provider.
struct HangUp {
    github: SlowGitHub,
    broker: BrokerProcess,
    browser: Browser,
    back: String,
    _installation: Installation,
}

impl HangUp {
    /// Starts a broker, and hangs up in the callback of a login, or of a legacy one.
    async fn during_the_provider_call(is_legacy: bool) -> Self {
        let (installation, github) = (Installation::new(), SlowGitHub::start().await);
        let broker = BrokerProcess::start(github.broker(&installation));
        let browser = broker.browser();
        let path = match is_legacy {
            true => authorize_path(),
            false => broker.login(1).await,
        };
        let back = browser.to_provider(&path).await;
        let callback = broker.request(Method::GET, &back);
        let callback = callback.header("Sec-Fetch-Mode", "navigate");
        let call = Call::send(callback.header("Cookie", browser.cookie_header())).await;
        github.wait_for_request().await;
        call.hang_up().await;
        github.permits.add_permits(1);
        Self {
            github,
            broker,
            browser,
            back,
            _installation: installation,
        }
    }
}

// Threats: L4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_login_completes_although_the_browser_hangs_up_during_the_provider_call() {
    let hung_up = HangUp::during_the_provider_call(false).await;
    let broker = &hung_up.broker;
    broker.logged("upstream login consumed, completed");
    let result = broker.post("/v1/login/result", &result_body(1)).await;
    assert_eq!(result.json()["status"], "succeeded", "{result:?}");
    let again = hung_up.browser.get(&hung_up.back).await;
    again.redirects_to(CALLBACK);
    hung_up.github.assert_no_more_requests();
}

/// The code was issued and lost. It cannot be requested again, so the browser starts
/// another login.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_legacy_login_starts_again_after_the_browser_hangs_up_during_the_provider_call() {
    let hung_up = HangUp::during_the_provider_call(true).await;
    hung_up
        .broker
        .logged("upstream login consumed, code issued");
    let again = hung_up.browser.get(&hung_up.back).await;
    again.is_refusal_page(400, "upstream_login.once");
    hung_up.github.assert_no_more_requests();
}

/// The rules by which requests were refused. A request whose client hung up can end
/// after the next one, so the last event may be of either.
fn refusals(broker: &TestBroker) -> Vec<&'static str> {
    let events = broker.events();
    events
        .iter()
        .filter_map(|event| event.rule)
        .map(contract::Rule::id)
        .collect()
}

/// Sends `request` and hangs up before the commit.
async fn hang_up_before_the_commit(store: &HeldStore, request: Request) {
    let held = store.hold().await;
    let call = Call::send(request).await;
    store.wait_for_step();
    call.hang_up().await;
    drop(held);
}

// Threats: L4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_store_is_made_although_the_client_hangs_up_before_its_commit() {
    let store = HeldStore::start(|_| ()).await;
    let broker = &store.broker;
    sign_in(broker, 1).await.redirects_to(CALLBACK);
    let (code, token) = (broker.code().await, broker.access_token().await);
    let post = |path| broker.request(Method::POST, path);

    let read = post("/v1/login/result").json(&result_body(1));
    hang_up_before_the_commit(&store, read).await;
    broker.result(1).await.is_refusal(400);
    let exchange = post("/v1/token").json(&token_body(&code));
    hang_up_before_the_commit(&store, exchange).await;
    broker.token(&code).await.is_refusal(400);
    let revocation = post("/v1/revoke").bearer_auth(&token);
    hang_up_before_the_commit(&store, revocation).await;
    // A read does not wait for a step that is not committed yet; another change does.
    broker.session(2).await;
    broker.profile(&token).await.is_refusal(401);

    assert_eq!(
        refusals(broker),
        ["result.once", "code.once", "bearer.ended"]
    );
}
