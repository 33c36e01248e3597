//! Several tabs of one browser, and several requests at once.

use std::time::Duration;

use rocket::futures::future::join_all;
use rocket::http::Method;

use crate::browser::{Answer, Browser};
use crate::scripted_broker::{RESULT, ada, failed, grace, pending, refused, succeeded};
use crate::test_consumer::TestConsumer;

/// A browser with two clean logins under way, and their keys.
async fn two_tabs(consumer: &TestConsumer) -> (Browser<'_>, String, String) {
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;
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

    let third = browser.start_clean("github").await;
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
