//! Interruptions: the program stops by a signal while a provider call is in progress, and
//! clients hang up during their request. What was begun is completed all the same.

use std::time::Duration;

use agent::program::Signal;
use reqwest::Method;
use rocket::futures::future::join_all;
use testkit::http::{Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::fake_provider::{FakeProvider, TOKEN};
use crate::installation::{FileBroker, Installation};
use crate::process::BrokerProcess;
use crate::test_broker::{
    Browser, CALLBACK, TestBroker, authorize_path, parameter, result_body, token_body,
};

/// A browser that waits for a broker with this grace period, which waits for its provider.
async fn in_a_callback(
    installation: &Installation,
    shutdown_seconds: &str,
) -> (
    BrokerProcess,
    FakeProvider,
    JoinHandle<reqwest::Result<Response>>,
) {
    // Its own: another broker's request must not be taken for this one's.
    let github = FakeProvider::start_slow_github().await;
    let broker = installation.serve_at(&github);
    let broker = BrokerProcess::start(broker.env("BROKER_SHUTDOWN_SECONDS", shutdown_seconds));
    let back = tokio::spawn(broker.coming_back("code=upstream-code").await.try_send());
    github.wait_for_calls(TOKEN, 1).await;
    (broker, github, back)
}

/// Waits until it accepts no more connections, for at most 20 seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "a broker that does not stop is to fail its test"
)]
async fn wait_until_stopping(address: impl tokio::net::ToSocketAddrs) {
    let stopping = async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, stopping).await.unwrap();
}

#[tokio::test]
async fn sigterm_and_sigint_let_a_callback_in_progress_finish() {
    tokio::join!(
        lets_a_callback_finish(Signal::TERM),
        lets_a_callback_finish(Signal::INT)
    );
}

async fn lets_a_callback_finish(signal: Signal) {
    let installation = Installation::new();
    // Longer than this test waits.
    let (broker, github, back) = in_a_callback(&installation, "300").await;
    broker.signal(signal);
    wait_until_stopping(&broker.address).await;
    github.permit(1);
    let returned = back.await.unwrap().expect("a response");
    assert_eq!(returned.status, 303, "{returned:?}");
    let returned = returned.location().unwrap();
    assert!(returned.starts_with(CALLBACK), "{returned}");
    assert_eq!(broker.ended(), Some(0));

    let code = parameter(returned, "code").unwrap();
    let next = installation.serve();
    let token = next.post("/v1/token", &token_body(&code)).await;
    assert_eq!(token.status, 200, "the commit is durable: {token:?}");
}

/// While Rocket accepts connections, it may stop with requests in progress.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sigterm_amid_new_connections_lets_a_callback_in_progress_finish() {
    join_all((0..12).map(async |_| {
        let installation = Installation::new();
        let (broker, github, back) = in_a_callback(&installation, "300").await;
        let connections = (0..4).map(|_| tokio::spawn(wait_until_stopping(broker.address.clone())));
        let connections: Vec<_> = connections.collect();
        broker.terminate();
        join_all(connections).await;
        github.permit(1);
        let returned = back.await.unwrap();
        assert_eq!(returned.expect("a response").status, 303);
    }))
    .await;
}

#[tokio::test]
async fn the_configuration_sets_the_grace_period() {
    let mut config = broker::config::Config::load(&Installation::new().config).unwrap();
    assert_eq!(config.shutdown_seconds, 25);
    config.shutdown_seconds = 77;
    config.store.url = broker::store::StoreUrl::SqliteMemory;
    let broker = broker::Broker::assemble(config, broker::Dependencies::default()).unwrap();
    let rocket = broker.rocket().ignite().await.unwrap();
    assert_eq!(rocket.config().shutdown.grace, 77);
}

#[tokio::test]
async fn a_callback_is_abandoned_after_the_grace_period() {
    let installation = Installation::new();
    let (broker, _github, back) = in_a_callback(&installation, "1").await;
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
    assert!(back.await.unwrap().is_err(), "there is no response");
}

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
    github: FakeProvider,
    broker: BrokerProcess,
    browser: Browser,
    back: String,
    _installation: Installation,
}

impl HangUp {
    /// Starts a broker, and hangs up in the callback of a login, or of a legacy one.
    async fn during_the_provider_call(is_legacy: bool) -> Self {
        let (installation, github) = (Installation::new(), FakeProvider::start_slow_github().await);
        let broker = BrokerProcess::start(installation.serve_at(&github));
        let browser = broker.browser();
        let path = match is_legacy {
            true => authorize_path(),
            false => broker.login(1).await,
        };
        let back = browser.to_provider(&path).await;
        let callback = broker.request(Method::GET, &back);
        let callback = callback.header("Sec-Fetch-Mode", "navigate");
        let call = Call::send(callback.header("Cookie", browser.cookie_header())).await;
        github.wait_for_calls(TOKEN, 1).await;
        call.hang_up().await;
        github.permit(1);
        Self {
            github,
            broker,
            browser,
            back,
            _installation: installation,
        }
    }
}

// Threats: L4, B2, B30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_login_completes_although_the_browser_hangs_up_during_the_provider_call() {
    let hung_up = HangUp::during_the_provider_call(false).await;
    let broker = &hung_up.broker;
    broker.logged("upstream login consumed, completed");
    let result = broker.post("/v1/login/result", &result_body(1)).await;
    assert_eq!(result.json()["status"], "succeeded", "{result:?}");
    let again = hung_up.browser.get(&hung_up.back).await;
    again.redirects_to(CALLBACK);
    assert_eq!(hung_up.github.calls_to(TOKEN).len(), 1);
}

/// The code was issued and lost. It cannot be requested again, so the browser starts
/// another login.
// Threats: B2, B30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_legacy_login_starts_again_after_the_browser_hangs_up_during_the_provider_call() {
    let hung_up = HangUp::during_the_provider_call(true).await;
    hung_up
        .broker
        .logged("upstream login consumed, code issued");
    let again = hung_up.browser.get(&hung_up.back).await;
    again.is_refusal_page(400, "upstream_login.once");
    assert_eq!(hung_up.github.calls_to(TOKEN).len(), 1);
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
async fn hang_up_before_the_commit(broker: &FileBroker, request: Request) {
    let held = broker.hold().await;
    let call = Call::send(request).await;
    broker.wait_for_step();
    call.hang_up().await;
    drop(held);
}

// Threats: L4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_store_is_made_although_the_client_hangs_up_before_its_commit() {
    let broker = FileBroker::start().await;
    broker.sign_in(1).await.redirects_to(CALLBACK);
    let (code, token) = (broker.code().await, broker.access_token().await);
    let post = |path| broker.request(Method::POST, path);

    let read = post("/v1/login/result").json(&result_body(1));
    hang_up_before_the_commit(&broker, read).await;
    broker.result(1).await.is_refusal(400);
    let exchange = post("/v1/token").json(&token_body(&code));
    hang_up_before_the_commit(&broker, exchange).await;
    broker.token(&code).await.is_refusal(400);
    let revocation = post("/v1/revoke").bearer_auth(&token);
    hang_up_before_the_commit(&broker, revocation).await;
    // A read does not wait for a step that is not committed yet; another change does.
    broker.session(2).await;
    broker.profile(&token).await.is_refusal(401);

    assert_eq!(
        refusals(&broker),
        ["result.once", "code.once", "bearer.ended"]
    );
}
