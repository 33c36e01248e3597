//! An attacker plants a live session of their own in the victim's browser, and
//! requests the callback in a loop: a session older than the login proves nothing. From
//! another port of the same host name they plant the cookie of a login as well.

use rocket::futures::future::join_all;
use rocket::http::Cookie;

use crate::browser::Browser;
use crate::cookies::check_attributes;
use crate::scripted_broker::{TOKEN, ada, pending, succeeded};
use crate::test_consumer::TestConsumer;

/// The victim's browser, which holds the attacker's live session, the attacker's
/// browser, and the key of a login that the attacker has started.
async fn planted(consumer: &TestConsumer) -> (Browser<'_>, Browser<'_>, String) {
    let attacker = consumer.browser();
    let bait = attacker.start_clean("google").await;
    consumer.broker.answer_reads_of(&bait, pending());
    let victim = consumer.browser();
    victim.set_cookie(attacker.cookie());
    (victim, attacker, bait)
}

// Threats: V5, G2.
#[rocket::async_test]
async fn a_login_is_not_read_by_a_browser_that_only_knows_its_session() {
    let consumer = TestConsumer::new().await;
    let (victim, attacker, bait) = planted(&consumer).await;
    let key = victim.start_clean("google").await;
    assert_eq!(victim.cookie(), attacker.cookie(), "they share the session");
    consumer.broker.answer_reads_of(&key, succeeded(&ada()));

    assert_eq!(attacker.get("/callback").await.problem(), "pending");
    assert!(consumer.broker.keys_read().iter().all(|read| *read == bait));

    assert_eq!(victim.get("/callback").await.location(), "/profile");
    assert_eq!(victim.get("/profile").await.field("subject"), "sub_ada");
    assert_eq!(attacker.get("/profile").await.location(), "/");
}

// Threats: G2.
#[rocket::async_test]
async fn of_32_callbacks_at_once_the_one_with_the_logins_own_cookie_signs_in() {
    let consumer = TestConsumer::new().await;
    let (victim, attacker, _) = planted(&consumer).await;
    let key = victim.start_clean("google").await;
    consumer.broker.answer_reads_of(&key, succeeded(&ada()));

    let asked = (0..32).map(|n| match n {
        16 => victim.get("/callback"),
        _ => attacker.get("/callback"),
    });
    let answers = join_all(asked).await;
    let signed_in: Vec<_> = answers
        .iter()
        .enumerate()
        .filter_map(|(n, answer)| answer.set_cookie().map(|_| n))
        .collect();
    assert_eq!(signed_in, [16]);
    assert_eq!(victim.get("/profile").await.field("subject"), "sub_ada");
    assert_eq!(attacker.get("/profile").await.location(), "/");
}

#[rocket::async_test]
async fn the_cookie_of_another_start_does_not_count() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let first = login_cookie(&browser);
    browser.keep(Cookie::new(first.name().to_owned(), "A".repeat(43)));
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    assert!(consumer.broker.keys_read().is_empty());
    browser.keep(first);
    assert_eq!(browser.get("/callback").await.location(), "/profile");
}

type Look = (&'static str, &'static str);

/// A header of each of two browsers.
const LOOKS: [[Look; 2]; 5] = [
    [("User-Agent", "Firefox/140"), ("User-Agent", "curl/8")],
    [("Accept-Language", "de"), ("Accept-Language", "de, en")],
    [("Sec-CH-UA", "\"Chromium\";v=\"141\""), ("Sec-CH-UA", "")],
    [("Sec-CH-UA-Mobile", "?0"), ("Sec-CH-UA-Mobile", "?1")],
    [("Sec-CH-UA-Platform", "Linux"), ("Accept", "text/html")],
];

/// The attacker's browser and the victim's, which looks different.
fn different(consumer: &TestConsumer, look: [Look; 2]) -> [Browser<'_>; 2] {
    look.map(|(name, value)| consumer.browser().sending(name, value))
}

fn plant_all_cookies(from: &Browser<'_>, victim: &Browser<'_>) {
    from.cookies().into_iter().for_each(|it| victim.keep(it));
}

// Threats: V5, W1.
#[rocket::async_test]
async fn a_browser_that_looks_different_reads_no_result_with_the_planted_cookies_of_a_login() {
    for look in LOOKS {
        let consumer = TestConsumer::new().await;
        let [attacker, victim] = different(&consumer, look);
        attacker.start_clean("google").await;
        plant_all_cookies(&attacker, &victim);
        assert_eq!(victim.get("/callback").await.problem(), "no_session");
        assert!(consumer.broker.keys_read().is_empty(), "{look:?}");
        assert_eq!(attacker.get("/callback").await.location(), "/profile");
    }
}

// Threats: W1.
#[rocket::async_test]
async fn a_browser_that_looks_different_redeems_no_code_with_a_planted_session() {
    for look in LOOKS {
        let consumer = TestConsumer::new().await;
        let [attacker, victim] = different(&consumer, look);
        let authorize = attacker.start_legacy("google").await;
        plant_all_cookies(&attacker, &victim);
        let query = format!("code=c&state={}", authorize["state"]);
        assert_eq!(victim.return_legacy(&query).await.problem(), "refused");
        assert!(consumer.broker.calls(TOKEN).is_empty(), "{look:?}");
        assert_eq!(attacker.return_legacy(&query).await.location(), "/profile");
    }
}

#[rocket::async_test]
async fn each_start_makes_a_cookie_of_its_own_with_every_attribute_written_out() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut values = Vec::new();
    for _ in 0..8 {
        let answer = browser.press("/login/google").await;
        let cookie = answer.set_cookies().find(is_a_logins).unwrap();
        check_attributes(&cookie, 600);
        values.push(cookie.value().to_owned());
    }
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 8, "every one is fresh");
    let kept = browser.cookies();
    assert_eq!(kept.iter().filter(|it| is_a_logins(it)).count(), 4);
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
        assert_eq!(browser.get("/callback").await.location(), "/profile");
    }
    consumer.broker.answer_reads_of(&waiting, succeeded(&ada()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.keys_read().last(), Some(&waiting));
}

fn login_cookie(browser: &Browser<'_>) -> Cookie<'static> {
    browser.cookies().into_iter().find(is_a_logins).unwrap()
}

fn is_a_logins(cookie: &Cookie<'_>) -> bool {
    cookie.name().starts_with("demo_login_")
}
