//! C2 and C9: the session's cookie. And an attacker who plants a live session of their own in
//! the victim's browser, and requests the callback in a loop: a session older than the login
//! proves nothing. From another port of the same host name they plant the cookie of a login
//! as well.

use std::collections::HashSet;

use rocket::http::{Cookie, Header, Method, SameSite};

use crate::scripted_broker::{TOKEN, ada, pending, succeeded};
use crate::test_consumer::{NOBODY, TestConsumer};

async fn https_consumer() -> TestConsumer {
    TestConsumer::with_config(|config| {
        config.consumer_base_url = "https://app.example".parse().unwrap();
        config.client_secret = "q3Zx9Lr2Vt7Wn4Kp8Ys1Bm6Jd5Hc0Fg".parse().unwrap();
    })
    .await
}

/// A login has 600 seconds, and its session knows for an hour more that it has expired.
const SESSION_SECONDS: i64 = 600 + 60 * 60;

/// Whether a cookie is that of a login, and not the session's.
fn is_a_logins(cookie: &Cookie<'_>) -> bool {
    cookie.name().starts_with("demo_login_")
}

/// Checks a cookie that the start of a login sets.
#[track_caller]
fn check_attributes(cookie: &Cookie<'_>, name: &str, seconds: i64) {
    assert_eq!(cookie.name(), name);
    assert_eq!(cookie.http_only(), Some(true));
    assert_eq!(cookie.same_site(), Some(SameSite::Lax));
    assert_eq!(cookie.path(), Some("/"));
    assert_eq!(cookie.domain(), None);
    assert_eq!(age(cookie), seconds);
    assert_eq!(cookie.value().len(), 43);
}

fn age(cookie: &Cookie<'_>) -> i64 {
    cookie.max_age().unwrap().whole_seconds()
}

#[rocket::async_test]
async fn c2_each_start_makes_cookies_with_every_attribute_written_out() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut values = HashSet::new();
    for start in 0..8 {
        let answer = browser.press("/login/google").await;
        let session = answer.set_cookie().unwrap();
        check_attributes(&session, "demo_session", SESSION_SECONDS);
        let login = answer.set_cookies().find(is_a_logins).unwrap();
        check_attributes(&login, &format!("demo_login_{}", start % 4), 600);
        values.insert(login.value().to_owned());
    }
    assert_eq!(values.len(), 8, "every login's is fresh");
    assert_eq!(browser.cookies().len(), 5);
}

// Threats: V5.
#[rocket::async_test]
async fn c2_off_loopback_the_cookie_belongs_to_this_very_host() {
    let consumer = https_consumer().await;
    let browser = consumer.browser();
    let answer = browser.press("/login/google").await;
    for cookie in answer.set_cookies() {
        assert!(cookie.name().starts_with("__Host-demo_"));
        assert_eq!(cookie.secure(), Some(true));
    }
    let cookie = answer.set_cookie().unwrap();
    check_attributes(&cookie, "__Host-demo_session", SESSION_SECONDS);
    // And both are read under those names.
    assert_eq!(browser.callback().await.outcome(), "/profile");
}

#[rocket::async_test]
async fn the_cookie_lives_as_long_as_the_session() {
    const HOURS_8: i64 = 8 * 60 * 60;
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let age = || age(&browser.cookie().unwrap());
    browser.start_clean("google").await;
    consumer.advance(100);
    browser.start_clean("google").await;
    assert_eq!(age(), SESSION_SECONDS, "from the latest start");
    browser.callback().await;
    assert_eq!(age(), HOURS_8);
    consumer.advance(60);
    browser.start_clean("google").await;
    assert_eq!(age(), HOURS_8 - 60, "a start extends no sign-in");
}

#[rocket::async_test]
async fn a_user_stays_signed_in_for_8_hours_of_the_servers_clock() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    consumer.advance(8 * 60 * 60 - 1);
    assert_eq!(browser.user().await, "sub_ada");
    // A login started in the last second keeps the session, not the sign-in.
    browser.start_clean("google").await;
    consumer.advance(1);
    assert_eq!(browser.user().await, NOBODY);
    assert_eq!(browser.callback().await.outcome(), "/profile");
}

// Threats: K4.
#[rocket::async_test]
async fn c9_signing_in_renews_the_session_id_and_the_old_one_is_dead() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let before = browser.cookie();
    browser.callback().await;
    let attacker = consumer.browser();
    attacker.set_cookie(before);
    assert_eq!(attacker.user().await, NOBODY);
    assert_eq!(attacker.callback().await.outcome(), "no_session");
}

// Threats: d91abd90, CVE-2026-34454.
#[rocket::async_test]
async fn c9_signing_out_ends_the_session_on_the_server() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    let copied = browser.cookie();
    let cleared = browser.press("/sign-out").await.set_cookie().unwrap();
    assert_eq!((cleared.value(), cleared.path()), ("", Some("/")));
    assert_eq!(age(&cleared), 0);
    browser.set_cookie(copied);
    assert_eq!(browser.user().await, NOBODY);
}

// Threats: V5.
#[rocket::async_test]
async fn a_planted_session_id_is_never_adopted() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let planted = Some(Cookie::new("demo_session", "P".repeat(43)));
    browser.set_cookie(planted.clone());
    // A problem never touches the cookie.
    assert_eq!(browser.callback().await.set_cookie(), None);
    assert_eq!(browser.return_legacy("code=c").await.set_cookie(), None);
    browser.start_clean("google").await;
    let value = |cookie: Option<Cookie<'_>>| cookie.unwrap().value().to_owned();
    assert_ne!(value(browser.cookie()), value(planted));
}

/// A sister subdomain may set all of these names for the parent domain; a server
/// that decodes or trims them would take each for the one that only we can set.
// Threats: G1.
#[rocket::async_test]
async fn a_cookie_whose_name_only_decodes_or_trims_to_ours_or_that_comes_twice_is_no_session() {
    let consumer = https_consumer().await;
    let name = "__Host-demo_session";
    let browser = consumer.signed_in(&ada()).await;
    let cookie = browser.cookie().unwrap();
    let value = cookie.value();
    let every_byte: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for (header, status) in [
        (format!("%5F%5FHost-demo_session={value}"), 303),
        (format!("__%48ost-demo_session={value}"), 303),
        (format!("{every_byte}={value}"), 303),
        (format!("\u{2000}{name}={value}"), 303),
        (format!("\u{85}{name}={value}"), 303),
        (format!("{name}\u{3000}={value}"), 303),
        (format!("{name}={value}; {name}=planted"), 303),
        (format!("{name}=planted; {name}={value}"), 303),
        (format!("{name}={value}"), 200),
        (format!("a=1;{name}={value};\tb=2"), 200),
    ] {
        let visitor = consumer.browser();
        let request = visitor.request(Method::Get, "/profile");
        let request = request.header(Header::new("Cookie", header.clone()));
        let profile = visitor.send(request).await;
        assert_eq!(profile.status.code, status, "{header}");
    }
}

#[rocket::async_test]
async fn a_reset_forgets_every_user() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    consumer.app.reset();
    assert_eq!(browser.user().await, NOBODY);
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
    assert_eq!(waiting[0].callback().await.outcome(), "/profile");

    let oldest = consumer.signed_in(&ada()).await;
    for _ in 0..3 {
        consumer.signed_in(&ada()).await;
    }
    assert_eq!(oldest.user().await, NOBODY);
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
    assert_eq!(user.user().await, "sub_ada");
}

// Threats: V5, G2.
#[rocket::async_test]
async fn a_login_is_not_read_by_a_browser_that_only_knows_its_session() {
    let consumer = TestConsumer::new().await;
    let [attacker, victim] = [consumer.browser(), consumer.browser()];
    let bait = attacker.start_clean("google").await;
    consumer.broker.answer_reads_of(&bait, pending());
    victim.set_cookie(attacker.cookie());
    let key = victim.start_clean("google").await;
    assert_eq!(victim.cookie(), attacker.cookie(), "they share the session");
    consumer.broker.answer_reads_of(&key, succeeded(&ada()));

    assert_eq!(attacker.callback().await.outcome(), "pending");
    assert!(consumer.broker.keys_read().iter().all(|read| *read == bait));

    assert_eq!(victim.callback().await.outcome(), "/profile");
    assert_eq!(victim.user().await, "sub_ada");
    assert_eq!(attacker.user().await, NOBODY);
}

#[rocket::async_test]
async fn the_cookie_of_another_start_does_not_count() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let first = browser.cookies().into_iter().find(is_a_logins).unwrap();
    browser.keep(Cookie::new(first.name().to_owned(), "A".repeat(43)));
    assert_eq!(browser.callback().await.outcome(), "no_session");
    assert!(consumer.broker.keys_read().is_empty());
    browser.keep(first);
    assert_eq!(browser.callback().await.outcome(), "/profile");
}

/// Headers of two browsers that look different.
const LOOKS: [[(&str, &str); 2]; 5] = [
    [("User-Agent", "Firefox/140"), ("User-Agent", "curl/8")],
    [("Accept-Language", "de"), ("Accept-Language", "de, en")],
    [("Sec-CH-UA", "\"Chromium\";v=\"141\""), ("Sec-CH-UA", "")],
    [("Sec-CH-UA-Mobile", "?0"), ("Sec-CH-UA-Mobile", "?1")],
    [("Sec-CH-UA-Platform", "Linux"), ("Accept", "text/html")],
];

// Threats: V5, W1.
#[rocket::async_test]
async fn a_browser_that_looks_different_ends_no_login_with_its_planted_cookies() {
    for look in LOOKS {
        let consumer = TestConsumer::new().await;
        let browser = |(name, value)| consumer.browser().sending(name, value);
        let [attacker, victim] = look.map(browser);
        attacker.start_clean("google").await;
        let legacy = attacker.start_legacy("google").await;
        for cookie in attacker.cookies() {
            victim.keep(cookie);
        }
        assert_eq!(victim.callback().await.outcome(), "no_session");
        let page = victim.finish_legacy(&legacy).await;
        assert_eq!(page.outcome(), "refused");
        assert!(consumer.broker.keys_read().is_empty(), "{look:?}");
        assert!(consumer.broker.calls(TOKEN).is_empty(), "{look:?}");
        assert_eq!(attacker.callback().await.outcome(), "/profile");
        let page = attacker.finish_legacy(&legacy).await;
        assert_eq!(page.outcome(), "/profile");
    }
}

/// The slot of a login that ended is free again, and no other tab's is taken.
#[rocket::async_test]
async fn a_tab_that_waits_keeps_its_cookie_while_others_come_and_go() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let waiting = browser.start_clean("google").await;
    consumer.broker.answer_reads_of(&waiting, pending());
    for _ in 0..6 {
        browser.start_clean("google").await;
        assert_eq!(browser.callback().await.outcome(), "/profile");
    }
    consumer.broker.answer_reads_of(&waiting, succeeded(&ada()));
    assert_eq!(browser.callback().await.outcome(), "/profile");
    assert_eq!(consumer.broker.keys_read().last(), Some(&waiting));
}
