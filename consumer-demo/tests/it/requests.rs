//! C3: the forms that start a login or sign out, and the methods of each path. And real servers:
//! two of one application, on both loopback addresses.

use std::sync::Arc;
use std::time::Duration;

use consumer_demo::{App, Clock};
use rocket::http::{Header, Method, Status};
use testkit::http::{Http, Response};
use testkit::server::TestServer;
use tokio::task::JoinSet;

use crate::scripted_broker::{RESULT, ScriptedBroker, ada, succeeded};
use crate::test_consumer::{Answer, Browser, CONSUMER, TestConsumer, config};

const FORMS: [&str; 5] = [
    "/login/google",
    "/login/github",
    "/legacy/login/google",
    "/note",
    "/sign-out",
];

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const ORIGIN: (&str, &str) = ("Origin", CONSUMER);

type Pair = (&'static str, &'static str);

async fn send(
    browser: &Browser<'_>,
    method: Method,
    path: &str,
    headers: &[Pair],
    body: &str,
) -> Answer {
    let mut request = browser.request(method, path).body(body);
    for (name, value) in headers {
        request.add_header(Header::new(*name, *value));
    }
    browser.send(request).await
}

/// Posts every form with these headers.
async fn check(headers: &[Pair], status: u16) {
    let consumer = TestConsumer::new().await;
    for path in FORMS {
        let all = [&[FORM][..], headers].concat();
        let browser = consumer.browser();
        let answer = send(&browser, Method::Post, path, &all, "note=a+note").await;
        assert_eq!(answer.status.code, status, "{path} {headers:?}");
        if status != 303 {
            assert_eq!(answer.set_cookie(), None);
        }
    }
    assert!(status == 303 || consumer.broker.call_count() == 0);
}

#[rocket::async_test]
async fn c3_a_form_of_our_own_is_accepted() {
    const SITE: Pair = ("Sec-Fetch-Site", "same-origin");
    check(&[ORIGIN], 303).await;
    check(&[SITE], 303).await;
    check(&[ORIGIN, SITE], 303).await;
    check(&[ORIGIN, ("Sec-Fetch-Site", "none")], 303).await;
}

/// The first two are like a form of another page whose headers Rocket has dropped.
#[rocket::async_test]
async fn c3_a_form_that_is_foreign_or_does_not_say_that_it_is_ours_is_refused_without_a_call() {
    check(&[], 403).await;
    check(&[("Sec-Fetch-Site", "none")], 403).await;
    for origin in [
        "http://evil.example",
        "http://localhost:3001",
        "http://localhost:3000.evil.example",
        "https://localhost:3000",
        "http://127.0.0.1:3000",
        "null",
        "",
    ] {
        check(&[("Origin", origin)], 403).await;
    }
    for site in ["cross-site", "same-site", ""] {
        check(&[ORIGIN, ("Sec-Fetch-Site", site)], 403).await;
    }
    check(&[ORIGIN, ("Origin", "http://evil.example")], 403).await;
    check(&[ORIGIN, ("Content-Type", "text/plain")], 415).await;
}

#[rocket::async_test]
async fn c3_a_start_is_not_for_get_and_every_other_method_is_answered_405() {
    use Method::{Delete, Get, Patch, Post, Put};
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let pages = ["/", "/profile", "/callback", "/legacy/callback"];
    let forms = FORMS.map(|path| (path, &[Get, Put, Patch, Delete], "POST"));
    let pages = pages.map(|path| (path, &[Post, Put, Patch, Delete], "GET, HEAD"));
    for (path, others, allow) in forms.into_iter().chain(pages) {
        for method in others {
            let answer = send(&browser, *method, path, &[], "").await;
            assert_eq!(answer.status.code, 405, "{method} {path}");
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
    }
    for path in FORMS {
        // Rocket reads the method out of a form's body.
        let answer = send(&browser, Post, path, &[FORM, ORIGIN], "_method=get").await;
        assert_eq!(answer.status.code, 405, "{path}");
    }
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn an_unknown_provider_is_an_unknown_page() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    for path in [
        "/login/twitter",
        "/legacy/login/Google",
        "/login/",
        "/nowhere",
    ] {
        assert_eq!(browser.press(path).await.status, Status::NotFound, "{path}");
    }
    assert_eq!(consumer.broker.call_count(), 0);
}

#[rocket::async_test]
async fn a_request_for_a_callback_that_is_no_visit_consumes_no_login() {
    const ANY: Pair = ("Accept", "*/*");
    let consumer = TestConsumer::new().await;
    for (method, header, body, status) in [
        (Method::Head, ANY, "", 200),
        (Method::Get, ("Sec-Purpose", "prefetch"), "", 503),
        (Method::Get, ("Sec-Purpose", "prefetch;prerender"), "", 503),
        (Method::Get, ("Purpose", "Prefetch"), "", 503),
        (Method::Get, ("X-Moz", "prefetch"), "", 503),
        (Method::Post, FORM, "_method=get", 405),
        (Method::Post, FORM, "_method=GET&code=x", 405),
    ] {
        let browser = consumer.browser();
        browser.start_clean("google").await;
        let login = browser.start_legacy("google").await;
        let legacy = format!("/legacy/callback?code=c&state={}", login["state"]);
        let calls = consumer.broker.call_count();
        for path in ["/callback", &legacy] {
            let answer = send(&browser, method, path, &[header], body).await;
            assert_eq!(answer.status.code, status, "{method} {header:?} {path}");
            assert_eq!(answer.set_cookie(), None, "{method} {header:?} {path}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        assert_eq!(consumer.broker.call_count(), calls, "{method} {header:?}");
        assert_eq!(browser.callback().await.outcome(), "/profile");
        assert_eq!(browser.get(&legacy).await.outcome(), "/profile");
    }
}

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
    check_32_callbacks(&broker, &app, &app).await;
    // And two applications that share their sessions, as two processes do.
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [(); 2].map(|()| {
        let mut config = config(&broker.url());
        config.sessions_db = Some(folder.path().join("sessions.sqlite"));
        App::new(config, Clock::system()).unwrap()
    });
    check_32_callbacks(&broker, &one, &other).await;
}

async fn check_32_callbacks(broker: &ScriptedBroker, one: &Arc<App>, other: &Arc<App>) {
    let (_four, four) = serve(one, "127.0.0.1:0").await;
    let (_six, six) = serve(other, "[::1]:0").await;
    let before = broker.calls(RESULT).len();

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
    assert_eq!(broker.calls(RESULT).len(), before + 1);

    let profile = six.get("/profile").header("Cookie", &sessions[0]);
    assert_eq!(profile.send().await.status, 200);
}
