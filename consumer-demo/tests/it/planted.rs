//! An attacker plants a live session of their own in the victim's browser, and
//! requests the callback in a loop: a session older than the login proves nothing. From
//! another port of the same host name they plant the cookie of a login as well.

use rocket::http::Cookie;

use crate::browser::NOBODY;
use crate::cookies::is_a_logins;
use crate::scripted_broker::{TOKEN, ada, pending, succeeded};
use crate::test_consumer::TestConsumer;

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
