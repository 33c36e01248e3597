//! C2 and C9: the session's cookie.

use rocket::http::{Cookie, Header, Method, SameSite, Status};

use crate::scripted_broker::ada;
use crate::test_consumer::TestConsumer;

/// The application's origin, off loopback.
const HTTPS_CONSUMER: &str = "https://app.example";

async fn https_consumer() -> TestConsumer {
    TestConsumer::with_config(|config| {
        config.consumer_base_url = HTTPS_CONSUMER.parse().unwrap();
        config.client_secret = "q3Zx9Lr2Vt7Wn4Kp8Ys1Bm6Jd5Hc0Fg".parse().unwrap();
    })
    .await
}

/// A login has 600 seconds, and its session knows for an hour more that it has expired.
const SESSION_SECONDS: i64 = 600 + 60 * 60;

#[rocket::async_test]
async fn c2_every_attribute_is_written_out() {
    let consumer = TestConsumer::new().await;
    let answer = consumer.browser().press("/login/google").await;
    let cookie = answer.set_cookie().unwrap();
    assert_eq!(cookie.name(), "demo_session");
    check_attributes(&cookie, SESSION_SECONDS);
}

/// Checks a cookie that the start of a login sets.
#[track_caller]
pub(crate) fn check_attributes(cookie: &Cookie<'_>, seconds: i64) {
    assert_eq!(cookie.http_only(), Some(true));
    assert_eq!(cookie.same_site(), Some(SameSite::Lax));
    assert_eq!(cookie.path(), Some("/"));
    assert_eq!(cookie.domain(), None);
    assert_eq!(cookie.max_age().unwrap().whole_seconds(), seconds);
    assert_eq!(cookie.value().len(), 43);
}

// Threats: V5.
#[rocket::async_test]
async fn c2_off_loopback_the_cookie_belongs_to_this_very_host() {
    let consumer = https_consumer().await;
    let browser = consumer.browser_at(HTTPS_CONSUMER);
    let cookie = browser.press("/login/google").await.set_cookie().unwrap();
    assert_eq!(cookie.name(), "__Host-demo_session");
    assert_eq!(cookie.secure(), Some(true));
    assert_eq!(cookie.path(), Some("/"));
    assert_eq!(cookie.domain(), None);
    // And it is read under that name.
    let back = browser.request(Method::Get, "/callback").dispatch().await;
    assert_eq!(back.headers().get_one("location"), Some("/profile"));
}

#[rocket::async_test]
async fn the_cookie_lives_as_long_as_the_session() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let age = |cookie: Option<Cookie<'_>>| cookie.unwrap().max_age().unwrap().whole_seconds();
    browser.start_clean("google").await;
    consumer.advance(100);
    browser.start_clean("google").await;
    let age_of_session = age(browser.cookie());
    assert_eq!(age_of_session, SESSION_SECONDS, "from the latest start");
    browser.get("/callback").await;
    assert_eq!(age(browser.cookie()), 8 * 60 * 60);
    consumer.advance(60);
    browser.start_clean("google").await;
    assert_eq!(
        age(browser.cookie()),
        8 * 60 * 60 - 60,
        "a start extends no sign-in"
    );
}

#[rocket::async_test]
async fn a_user_stays_signed_in_for_8_hours_of_the_servers_clock() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    consumer.advance(8 * 60 * 60 - 1);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
    // A login started in the last second keeps the session, not the sign-in.
    browser.start_clean("google").await;
    consumer.advance(1);
    assert_eq!(browser.get("/profile").await.location(), "/");
    assert_eq!(browser.get("/callback").await.location(), "/profile");
}

#[rocket::async_test]
async fn c9_signing_in_renews_the_session_id_and_the_old_one_is_dead() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let before = browser.cookie();
    browser.get("/callback").await;
    assert_ne!(
        browser.cookie().unwrap().value(),
        before.as_ref().unwrap().value()
    );

    let attacker = consumer.browser();
    attacker.set_cookie(before);
    assert_eq!(attacker.get("/profile").await.location(), "/");
    assert_eq!(attacker.get("/callback").await.problem(), "no_session");
}

// Threats: d91abd90, CVE-2026-34454.
#[rocket::async_test]
async fn c9_signing_out_ends_the_session_on_the_server() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    let copied = browser.cookie();
    let answer = browser.press("/sign-out").await;
    let cleared = answer.set_cookie().unwrap();
    assert_eq!(cleared.value(), "");
    assert_eq!(cleared.max_age().unwrap().whole_seconds(), 0);
    assert_eq!(cleared.path(), Some("/"));

    browser.set_cookie(copied);
    assert_eq!(browser.get("/profile").await.location(), "/");
}

// Threats: V5.
#[rocket::async_test]
async fn a_planted_session_id_is_never_adopted() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let planted = "P".repeat(43);
    browser.set_cookie(Some(Cookie::new("demo_session", planted.clone())));
    browser.start_clean("google").await;
    assert_ne!(browser.cookie().unwrap().value(), planted);
}

/// The request of a browser that sends this `Cookie` header.
async fn profile_with(consumer: &TestConsumer, header: String) -> Option<String> {
    let browser = consumer.browser();
    let request = browser
        .request(Method::Get, "/profile")
        .header(Header::new("Cookie", header));
    let answer = browser.send(request).await;
    (answer.status == Status::Ok).then(|| answer.field("subject"))
}

/// A sister subdomain may set all of these names for the parent domain; a server
/// that decodes or trims them would take each for the one that only we can set.
// Threats: G1.
#[rocket::async_test]
async fn a_cookie_whose_name_only_decodes_or_trims_to_ours_is_no_session() {
    let consumer = https_consumer().await;
    let name = "__Host-demo_session";
    let planted = consumer
        .signed_in_at(HTTPS_CONSUMER, &ada())
        .await
        .cookie()
        .unwrap();
    let value = planted.value();
    let every_byte: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for spelling in [
        "%5F%5FHost-demo_session",
        "__%48ost-demo_session",
        &every_byte,
        "\u{2000}__Host-demo_session",
        "\u{85}__Host-demo_session",
        "__Host-demo_session\u{3000}",
    ] {
        let seen = profile_with(&consumer, format!("{spelling}={value}")).await;
        assert_eq!(seen, None, "{spelling}");
    }
    let seen = profile_with(&consumer, format!("{name}={value}")).await;
    assert_eq!(seen.as_deref(), Some("sub_ada"));
}

// Threats: G1.
#[rocket::async_test]
async fn of_two_cookies_with_one_name_neither_counts() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    let value = browser.cookie().unwrap().value().to_owned();
    for header in [
        format!("demo_session={value}; demo_session=planted"),
        format!("demo_session=planted; demo_session={value}"),
    ] {
        assert_eq!(profile_with(&consumer, header).await, None);
    }
}

#[rocket::async_test]
async fn a_problem_never_touches_the_cookie() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.set_cookie(Some(Cookie::new("demo_session", "P".repeat(43))));
    assert_eq!(browser.get("/callback").await.set_cookie(), None);
    assert_eq!(browser.return_legacy("code=c").await.set_cookie(), None);
}

#[rocket::async_test]
async fn a_reset_forgets_every_user() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    consumer.app.reset();
    assert_eq!(browser.get("/profile").await.location(), "/");
    let again = consumer.signed_in(&ada()).await;
    assert_eq!(again.get("/profile").await.field("signIns"), "1");
}

#[rocket::async_test]
async fn the_store_is_bounded_and_drops_the_expired_before_the_oldest() {
    let consumer = TestConsumer::with_config(|config| config.max_sessions = 3).await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let browser = consumer.browser();
        browser.start_clean("google").await;
        waiting.push(browser);
    }
    // The first starts again, so it ends later than the two after it.
    consumer.advance(300);
    waiting[0].start_clean("google").await;
    consumer.advance(SESSION_SECONDS - 300);
    consumer.browser().start_clean("google").await;
    waiting[0].start_clean("google").await;
    assert_eq!(waiting[0].get("/callback").await.location(), "/profile");

    let oldest = consumer.signed_in(&ada()).await;
    for _ in 0..3 {
        consumer.signed_in(&ada()).await;
    }
    assert_eq!(oldest.get("/profile").await.location(), "/");
}

/// Starting a login takes no credentials.
// Threats: G6.
#[rocket::async_test]
async fn unfinished_logins_evict_no_signed_in_user() {
    let consumer = TestConsumer::with_config(|config| config.max_sessions = 3).await;
    let user = consumer.signed_in(&ada()).await;
    for _ in 0..30 {
        consumer.browser().start_clean("google").await;
    }
    assert_eq!(user.get("/profile").await.field("subject"), "sub_ada");
}
