//! Real servers: two of one application, on both loopback addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use consumer_demo::{App, Clock};
use reqwest::header::HeaderValue;
use rocket::fairing::AdHoc;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::scripted_broker::{RESULT, SESSION, ScriptedBroker, ada, pending, succeeded};
use crate::test_consumer::{CONSUMER, config};

/// A scripted broker, and the application in front of it.
async fn consumer() -> (ScriptedBroker, Arc<App>) {
    testkit::leak_check::watch_log();
    let broker = ScriptedBroker::start().await;
    let app = App::new(config(&broker.url()), Clock::system()).unwrap();
    (broker, app)
}

/// Starts a server and returns where it listens.
async fn serve(app: &Arc<App>, bind: &str) -> SocketAddr {
    let (sender, receiver) = oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let server = app.rocket(bind.parse().unwrap()).unwrap();
    let server = server.attach(AdHoc::on_liftoff("Address", move |rocket| {
        let address = SocketAddr::new(rocket.config().address, rocket.config().port);
        let sender = sender.lock().unwrap().take().expect("it lifts off once");
        sender.send(address).expect("the test waits for it");
        Box::pin(async {})
    }));
    tokio::spawn(server.launch());
    receiver.await.expect("it lifts off")
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.build().unwrap()
}

/// Every cookie that an answer sets, as the header that sends them back.
fn cookies(response: &reqwest::Response) -> Option<String> {
    let lines = response.headers().get_all("set-cookie").iter();
    let pairs: Vec<_> = lines
        .map(|line| line.to_str().unwrap().split(';').next().unwrap())
        .collect();
    (!pairs.is_empty()).then(|| pairs.join("; "))
}

/// Starts a clean login in a browser with the cookies `held`, and returns its cookies
/// afterwards.
async fn start_login(at: SocketAddr, held: &str) -> String {
    let start = client().post(format!("http://{at}/login/google"));
    let start = start.header("Origin", CONSUMER).header("Cookie", held);
    let started = start.send().await.unwrap();
    assert_eq!(started.status(), 303);
    cookies(&started).expect("a session and a login")
}

fn newest_key(broker: &ScriptedBroker) -> String {
    let newest = broker.calls(SESSION).pop().expect("a login");
    newest["session_key"].as_str().unwrap().to_owned()
}

/// Visits the callback and returns the cookies that it sets: a session if it signed
/// the user in.
fn visit(at: SocketAddr, held: &str) -> impl Future<Output = Option<String>> + use<> {
    let request = client().get(format!("http://{at}/callback"));
    let request = request.header("Cookie", held);
    async move { cookies(&request.send().await.unwrap()) }
}

/// Rocket drops a header whose value is not UTF-8.
// Threats: W2.
#[tokio::test]
async fn c3_a_header_beyond_utf8_makes_no_form_ours_and_no_cookie_count() {
    let beyond_utf8 = |text: &str| HeaderValue::from_bytes(&[text.as_bytes(), b"\xff"].concat());
    let (broker, app) = consumer().await;
    let at = serve(&app, "127.0.0.1:0").await;
    let start = client().post(format!("http://{at}/login/google"));
    let start = start.header("Origin", beyond_utf8("http://evil").unwrap());
    assert_eq!(start.send().await.unwrap().status(), 403);
    assert_eq!(broker.call_count(), 0);

    // A user whose cookies are hidden by it reads what to do.
    let held = start_login(at, "").await;
    let callback = client().get(format!("http://{at}/callback"));
    let callback = callback.header("Cookie", beyond_utf8(&format!("{held}; caf=")).unwrap());
    let page = callback.send().await.unwrap().text().await.unwrap();
    assert!(page.contains("delete this site’s cookies"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c6_32_callbacks_on_two_servers_sign_in_once() {
    let (broker, app) = consumer().await;
    let four = serve(&app, "127.0.0.1:0").await;
    let six = serve(&app, "[::1]:0").await;
    assert!(four.ip().is_loopback() && six.ip().is_loopback());

    let held = start_login(four, "").await;
    let slow = succeeded(&ada()).set_delay(std::time::Duration::from_millis(20));
    broker.answer_reads_of(&newest_key(&broker), slow);
    let mut visits = JoinSet::new();
    for number in 0..32 {
        let address = if number % 2 == 0 { four } else { six };
        visits.spawn(visit(address, &held));
    }
    let sessions: Vec<_> = visits.join_all().await.into_iter().flatten().collect();
    assert_eq!(sessions.len(), 1);
    assert_eq!(broker.calls(RESULT).len(), 1);

    let profile = client()
        .get(format!("http://{six}/profile"))
        .header("Cookie", &sessions[0]);
    assert_eq!(profile.send().await.unwrap().status(), 200);
}

/// The attacker's session is live in the victim's browser, and the attacker asks
/// from before the victim starts until the victim is signed in.
// Threats: G2, d91abd90, CVE-2026-34454.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c9_a_planted_session_reads_no_result_however_often_its_owner_asks() {
    let (broker, app) = consumer().await;
    let at = serve(&app, "127.0.0.1:0").await;

    for _ in 0..8 {
        let attackers = start_login(at, "").await;
        broker.answer_reads_of(&newest_key(&broker), pending());
        let mut cookies = attackers.split("; ");
        let session = cookies.find(|it| it.starts_with("demo_session="));
        let victims = start_login(at, session.unwrap()).await;
        let key = newest_key(&broker);
        broker.answer_reads_of(&key, succeeded(&ada()));

        let mut attacks = JoinSet::new();
        for _ in 0..16 {
            attacks.spawn(visit(at, &attackers));
        }
        let victim = visit(at, &victims).await;
        let stolen: Vec<_> = attacks.join_all().await.into_iter().flatten().collect();
        assert_eq!(stolen, Vec::<String>::new());
        assert!(victim.is_some(), "the victim signs in");
        let reads = broker.keys_read();
        assert_eq!(reads.iter().filter(|read| **read == key).count(), 1);
    }
}
