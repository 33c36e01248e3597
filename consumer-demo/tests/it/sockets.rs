//! Real servers: two of one application, on both loopback addresses.

use std::sync::Arc;
use std::time::Duration;

use consumer_demo::{App, Clock};
use testkit::http::{Http, Response};
use testkit::server::TestServer;
use tokio::task::JoinSet;

use crate::scripted_broker::{RESULT, ScriptedBroker, ada, succeeded};
use crate::test_consumer::{CONSUMER, config};

/// A scripted broker, and the application in front of it.
async fn consumer() -> (ScriptedBroker, Arc<App>) {
    testkit::leak_check::watch_log();
    let broker = ScriptedBroker::start().await;
    let app = App::new(config(&broker.url()), Clock::system()).unwrap();
    (broker, app)
}

/// Starts a server, and returns it with a client.
async fn serve(app: &Arc<App>, bind: &str) -> (TestServer, Http) {
    let server = TestServer::launch(app.rocket(bind.parse().unwrap()).unwrap()).await;
    assert!(server.address.ip().is_loopback());
    let http = Http::at(format!("http://{}", server.address));
    (server, http)
}

/// Every cookie that an answer sets, as the header that sends them back.
fn cookies(response: &Response) -> String {
    let lines = response.set_cookies();
    let pairs = lines.iter().filter_map(|line| line.split(';').next());
    pairs.collect::<Vec<_>>().join("; ")
}

/// Starts a clean login, and returns the cookies of its browser.
async fn start_login(at: &Http) -> String {
    let start = at.post("/login/google").header("Origin", CONSUMER);
    let started = start.send().await;
    assert_eq!(started.status, 303);
    cookies(&started)
}

/// Rocket drops a header whose value is not UTF-8.
// Threats: W2.
#[tokio::test]
async fn c3_a_header_beyond_utf8_makes_no_form_ours_and_no_cookie_count() {
    let (broker, app) = consumer().await;
    let (_server, http) = serve(&app, "127.0.0.1:0").await;
    let start = http.post("/login/google");
    let start = start.header("Origin", b"http://evil\xff");
    assert_eq!(start.send().await.status, 403);
    assert_eq!(broker.call_count(), 0);

    // A user whose cookies are hidden by it reads what to do.
    let held = start_login(&http).await;
    let hidden = [held.as_bytes(), b"; caf=\xff"].concat();
    let page = http.get("/callback").header("Cookie", hidden).send().await;
    assert!(page.text().contains("delete this site’s cookies"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c6_32_callbacks_on_two_servers_sign_in_once() {
    let (broker, app) = consumer().await;
    let (_four, four) = serve(&app, "127.0.0.1:0").await;
    let (_six, six) = serve(&app, "[::1]:0").await;

    let held = start_login(&four).await;
    let slow = succeeded(&ada()).set_delay(Duration::from_millis(20));
    broker.answer_next(RESULT, slow);
    let mut visits = JoinSet::new();
    for number in 0..32 {
        let at = if number % 2 == 0 { &four } else { &six };
        let visit = at.get("/callback").header("Cookie", &held);
        visits.spawn(async { cookies(&visit.send().await) });
    }
    let mut sessions = visits.join_all().await;
    sessions.retain(|cookies| !cookies.is_empty());
    assert_eq!(sessions.len(), 1);
    assert_eq!(broker.calls(RESULT).len(), 1);

    let profile = six.get("/profile").header("Cookie", &sessions[0]);
    assert_eq!(profile.send().await.status, 200);
}
