//! The clean callback flow: in one tab; in several tabs of one browser; and in several requests
//! at once.

use std::collections::HashSet;
use std::time::Duration;

use rocket::futures::future::join_all;
use rocket::http::{Method, Status};

use crate::scripted_broker::{RESULT, SESSION, ada, failed, grace, pending, refused, succeeded};
use crate::test_consumer::{Answer, Browser, CONSUMER, SECRET, TestConsumer};

#[rocket::async_test]
async fn a_login_ends_on_the_profile() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let started = browser.press("/login/google").await;
    let authorization_url = format!("{}/login/a-handle", consumer.broker.url());
    assert_eq!(started.outcome(), authorization_url);
    // A reload shows the profile without a call.
    for _ in 0..2 {
        assert_eq!(browser.callback().await.outcome(), "/profile");
    }

    let profile = browser.get("/profile").await;
    for (field, value) in [
        ("subject", "sub_ada"),
        ("email", "ada@example.org"),
        ("username", "not given"),
    ] {
        assert_eq!(profile.field(field), value);
    }
    let [session] = &consumer.broker.calls(SESSION)[..] else {
        panic!("one call")
    };
    assert_eq!(session["provider"], "google");
    assert_eq!(session["client_secret"], SECRET);
    assert_eq!(session["redirect_uri"], format!("{CONSUMER}/callback"));
    let [result] = &consumer.broker.calls(RESULT)[..] else {
        panic!("one call")
    };
    for same in ["session_key", "client_secret", "redirect_uri"] {
        assert_eq!(result[same], session[same]);
    }
}

#[rocket::async_test]
async fn c1_every_login_has_a_key_of_its_own_that_no_browser_sees() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut seen = String::new();
    for _ in 0..200 {
        seen += &browser.press("/login/google").await.headers_and_body();
    }
    seen += &browser.callback().await.headers_and_body();
    let calls = consumer.broker.calls(SESSION);
    let keys: HashSet<_> = calls
        .iter()
        .map(|it| it["session_key"].as_str().unwrap())
        .collect();
    assert_eq!(keys.len(), 200);
    assert!(keys.iter().all(|key| !seen.contains(key)));
    assert!(!seen.contains(SECRET));
}

// Threats: M8.
#[rocket::async_test]
async fn c4_a_callback_without_the_cookie_of_a_session_makes_no_call() {
    let consumer = TestConsumer::new().await;
    consumer.browser().start_clean("google").await;
    let other = consumer.browser();
    for cookie in [None, Some(("demo_session", "A".repeat(43)).into())] {
        other.set_cookie(cookie);
        let answer = other.callback().await;
        assert_eq!(answer.outcome(), "no_session");
        assert_eq!(answer.status, Status::BadRequest);
    }
    assert_eq!(consumer.broker.calls(RESULT).len(), 0);
}

#[rocket::async_test]
async fn c5_parameters_of_the_callback_change_nothing() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let key = browser.start_clean("google").await;
    let other = "B".repeat(43);
    let address =
        format!("/callback?session_key={other}&code=c&subject=sub_eve&error=access_denied");
    assert_eq!(browser.get(&address).await.outcome(), "/profile");
    assert_eq!(consumer.broker.keys_read(), [key]);
    assert_eq!(browser.user().await, "sub_ada");
}

// Threats: d91abd90, CVE-2021-21291, GHSA-5m6c, GHSA-j7px, GHSA-qqxw.
#[rocket::async_test]
async fn c12_no_parameter_chooses_where_a_browser_goes() {
    let consumer = TestConsumer::new().await;
    for target in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "/%5cevil.example/",
        "/%09/evil.example/",
        "/profile.evil.example",
        "javascript:alert(1)",
    ] {
        let target: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
        let query = format!("?returnTo={target}&next={target}&rd={target}&redirect={target}");
        let browser = consumer.browser();
        let started = browser.press(&format!("/login/google{query}")).await;
        let authorization_url = format!("{}/login/a-handle", consumer.broker.url());
        assert_eq!(started.outcome(), authorization_url, "{target}");
        let finished = browser.get(&format!("/callback{query}")).await;
        assert_eq!(finished.outcome(), "/profile", "{target}");
        let signed_out = browser.press(&format!("/sign-out{query}")).await;
        assert_eq!(signed_out.outcome(), "/", "{target}");
    }
}

// Threats: M8.
#[rocket::async_test]
async fn c8_a_pending_result_is_read_three_times_and_then_left_to_the_user() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let key = browser.start_clean("google").await;
    consumer.broker.answer_reads_of(&key, pending());
    assert_eq!(browser.callback().await.outcome(), "pending");
    assert_eq!(consumer.broker.calls(RESULT).len(), 3);

    // The user's click, not ours: and now it has ended.
    consumer.broker.answer_reads_of(&key, succeeded(&ada()));
    assert_eq!(browser.callback().await.outcome(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 4);

    // Or it ends while we wait.
    browser.start_clean("google").await;
    consumer.broker.answer_next(RESULT, pending());
    consumer.broker.answer_next(RESULT, pending());
    assert_eq!(browser.callback().await.outcome(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 7);
}

#[rocket::async_test]
async fn a_login_is_forgotten_after_600_seconds() {
    let consumer = TestConsumer::new().await;
    let [browser, early] = [consumer.browser(), consumer.browser()];
    browser.start_clean("google").await;
    consumer.advance(1);
    early.start_clean("google").await;
    consumer.advance(599);
    let late = browser.callback().await;
    assert_eq!(late.outcome(), "expired");
    assert_eq!(late.status, Status::BadRequest);
    assert!(late.body.contains(r#"action="/login/google""#));
    assert_eq!(consumer.broker.calls(RESULT).len(), 0);
    assert_eq!(early.callback().await.outcome(), "/profile");
    // The end itself is remembered for an hour.
    consumer.advance(60 * 60 - 1);
    assert_eq!(browser.callback().await.outcome(), "expired");
    consumer.advance(1);
    assert_eq!(browser.callback().await.outcome(), "no_session");
}

#[rocket::async_test]
async fn a_login_that_has_expired_is_not_read_while_a_later_one_is() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.advance(300);
    let later = browser.start_clean("google").await;
    consumer.advance(300);
    consumer.broker.answer_reads_of(&later, refused(400));
    assert_eq!(browser.callback().await.outcome(), "refused");
    assert_eq!(consumer.broker.keys_read(), [later]);
}

/// A browser with two clean logins under way, and their keys.
async fn two_tabs(consumer: &TestConsumer) -> (Browser<'_>, String, String) {
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("google").await;
    (browser, first, second)
}

#[rocket::async_test]
async fn two_tabs_work_whichever_ends_first() {
    let consumer = TestConsumer::new().await;
    for second_ends_first in [false, true] {
        let (browser, first, second) = two_tabs(&consumer).await;
        let mut keys = [first, second];
        if second_ends_first {
            keys.reverse();
        }
        consumer.broker.answer_reads_of(&keys[1], pending());
        for (key, user) in keys.iter().zip([ada(), grace()]) {
            consumer.broker.answer_reads_of(key, succeeded(&user));
            assert_eq!(browser.callback().await.outcome(), "/profile");
            assert_eq!(user["subject"], browser.user().await);
        }
    }
}

#[rocket::async_test]
async fn a_failure_in_one_tab_leaves_the_login_and_the_user_of_another_alone() {
    let consumer = TestConsumer::new().await;
    let broker = &consumer.broker;
    let (browser, first, second) = two_tabs(&consumer).await;
    broker.answer_reads_of(&first, pending());
    broker.answer_reads_of(&second, failed("access_denied"));
    assert_eq!(browser.callback().await.outcome(), "access_denied");
    broker.answer_reads_of(&first, succeeded(&ada()));
    assert_eq!(browser.callback().await.outcome(), "/profile");

    let third = browser.start_clean("google").await;
    let cookie = browser.cookie();
    broker.answer_reads_of(&third, failed("access_denied"));
    let answer = browser.callback().await;
    assert_eq!(answer.outcome(), "access_denied");
    let still = "still signed in as <strong>Ada Lovelace";
    assert!(answer.body.contains(still));
    assert_eq!(browser.cookie(), cookie);
    assert_eq!(browser.user().await, "sub_ada");
}

#[rocket::async_test]
async fn a_400_for_one_login_leads_to_the_next_and_any_other_refusal_stops_the_search() {
    for (status, outcomes) in [
        (400, &["/profile"][..]),
        (429, &["refused", "/profile"][..]),
    ] {
        let consumer = TestConsumer::new().await;
        let (browser, first, second) = two_tabs(&consumer).await;
        consumer.broker.answer_reads_of(&second, refused(status));
        for outcome in outcomes {
            assert_eq!(browser.callback().await.outcome(), *outcome, "{status}");
        }
        assert_eq!(consumer.broker.keys_read(), [second, first], "{status}");
    }
}

#[rocket::async_test]
async fn a_fifth_login_evicts_the_oldest() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut keys = Vec::new();
    for _ in 0..5 {
        let key = browser.start_clean("google").await;
        consumer.broker.answer_reads_of(&key, refused(400));
        keys.insert(0, key);
    }
    browser.callback().await;
    assert_eq!(consumer.broker.keys_read(), keys[..4]);
}

/// The answers to two callbacks at once, whose cookies the browser does not keep.
async fn two_callbacks_at_once(browser: &Browser<'_>) -> Vec<Answer> {
    let visits = (0..2).map(|_| async {
        let request = browser.request(Method::Get, "/callback");
        Answer::of(request.dispatch().await).await
    });
    join_all(visits).await
}

#[rocket::async_test]
async fn two_tabs_that_come_back_at_once_both_get_their_result() {
    let consumer = TestConsumer::new().await;
    let (browser, first, second) = two_tabs(&consumer).await;
    for (key, user) in [(first, ada()), (second, grace())] {
        let slow = succeeded(&user).set_delay(Duration::from_millis(30));
        consumer.broker.answer_reads_of(&key, slow);
    }
    for answer in two_callbacks_at_once(&browser).await {
        assert_eq!(answer.outcome(), "/profile");
    }
    assert_eq!(consumer.broker.calls(RESULT).len(), 2);
}

#[rocket::async_test]
async fn a_callback_during_another_ones_read_is_redirected_to_look_again() {
    let consumer =
        TestConsumer::with_config(|config| config.pending_wait = Duration::from_millis(250)).await;
    let browser = consumer.browser();
    let key = browser.start_clean("google").await;
    let slow = succeeded(&ada()).set_delay(Duration::from_millis(40));
    consumer.broker.answer_reads_of(&key, slow);
    let answers = two_callbacks_at_once(&browser).await;
    let mut targets: Vec<_> = answers.iter().map(Answer::outcome).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["/callback", "/profile"]);
    // The old cookie opens nothing, the new one does.
    assert_eq!(browser.callback().await.outcome(), "no_session");
    browser.set_cookie(answers.iter().find_map(Answer::set_cookie));
    assert_eq!(browser.callback().await.outcome(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 1);
}
