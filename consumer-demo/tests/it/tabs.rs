//! Several tabs of one browser, and several requests at once.

use std::time::Duration;

use rocket::futures::future::join_all;
use rocket::http::Method;

use crate::browser::Answer;
use crate::scripted_broker::{RESULT, SESSION, ada, failed, grace, pending, refused, succeeded};
use crate::test_consumer::TestConsumer;

#[rocket::async_test]
async fn two_tabs_work_when_the_first_ends_first() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;

    consumer.broker.answer_reads_of(&first, succeeded(&ada()));
    consumer.broker.answer_reads_of(&second, pending());
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");

    consumer
        .broker
        .answer_reads_of(&second, succeeded(&grace()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_grace");
}

#[rocket::async_test]
async fn two_tabs_work_when_the_second_ends_first() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;

    consumer.broker.answer_reads_of(&first, pending());
    consumer
        .broker
        .answer_reads_of(&second, succeeded(&grace()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.keys_read(), [second]);

    consumer.broker.answer_reads_of(&first, succeeded(&ada()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn a_failure_in_one_tab_leaves_the_other_signed_in() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;

    consumer.broker.answer_reads_of(&first, succeeded(&ada()));
    consumer.broker.answer_reads_of(&second, pending());
    browser.get("/callback").await;
    let cookie = browser.cookie();

    consumer
        .broker
        .answer_reads_of(&second, failed("access_denied"));
    let answer = browser.get("/callback").await;
    assert_eq!(answer.problem(), "access_denied");
    assert!(
        answer
            .body
            .contains("still signed in as <strong>Ada Lovelace")
    );
    assert_eq!(browser.cookie(), cookie);
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
}

#[rocket::async_test]
async fn a_failure_in_one_tab_leaves_the_other_s_login_alone() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;
    consumer.broker.answer_reads_of(&first, pending());
    consumer
        .broker
        .answer_reads_of(&second, failed("access_denied"));
    assert_eq!(browser.get("/callback").await.problem(), "access_denied");

    consumer.broker.answer_reads_of(&first, succeeded(&ada()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
}

#[rocket::async_test]
async fn an_expired_key_does_not_hide_the_one_that_ended() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;
    consumer.broker.answer_reads_of(&first, succeeded(&ada()));
    consumer.broker.answer_reads_of(&second, refused(400));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.keys_read(), [second, first]);
}

#[rocket::async_test]
async fn another_refusal_than_400_stops_the_search() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let first = browser.start_clean("google").await;
    let second = browser.start_clean("github").await;
    consumer.broker.answer_reads_of(&second, refused(429));
    assert_eq!(browser.get("/callback").await.problem(), "refused");
    assert_eq!(consumer.broker.keys_read(), std::slice::from_ref(&second));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.keys_read(), [second, first]);
}

#[rocket::async_test]
async fn a_fifth_login_evicts_the_oldest() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let mut keys = Vec::new();
    for _ in 0..5 {
        let key = browser.start_clean("google").await;
        consumer.broker.answer_reads_of(&key, refused(400));
        keys.push(key);
    }
    browser.get("/callback").await;
    keys.reverse();
    assert_eq!(consumer.broker.keys_read(), keys[..4]);
}

#[rocket::async_test]
async fn a_clean_and_a_legacy_login_live_side_by_side() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    let authorize = browser.start_legacy("github").await;
    let query = format!("code=c&state={}", authorize["state"]);
    assert_eq!(browser.return_legacy(&query).await.location(), "/profile");
    consumer.broker.answer_next(RESULT, succeeded(&grace()));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_grace");
}

#[rocket::async_test]
async fn c6_of_32_callbacks_at_once_one_reads_the_result_and_signs_in() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    let key = browser.start_clean("google").await;
    let slow = succeeded(&ada()).set_delay(Duration::from_millis(30));
    consumer.broker.answer_reads_of(&key, slow);

    let visits = (0..32).map(|_| async {
        let request = browser.request(Method::Get, "/callback");
        Answer::of(request.dispatch().await).await
    });
    let answers = join_all(visits).await;

    assert_eq!(consumer.broker.calls(RESULT).len(), 1);
    let cookies: Vec<_> = answers.iter().filter_map(Answer::set_cookie).collect();
    assert_eq!(cookies.len(), 1, "one new session, one cookie for it");
    browser.set_cookie(cookies.into_iter().next());
    assert_eq!(browser.get("/profile").await.field("signIns"), "1");
}

#[rocket::async_test]
async fn two_tabs_that_come_back_at_once_both_get_their_result() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    for subject in [ada(), grace()] {
        let key = browser.start_clean("google").await;
        let slow = succeeded(&subject).set_delay(Duration::from_millis(30));
        consumer.broker.answer_reads_of(&key, slow);
    }
    let visits = (0..2).map(|_| async {
        let request = browser.request(Method::Get, "/callback");
        Answer::of(request.dispatch().await).await
    });
    let answers = join_all(visits).await;
    for answer in &answers {
        assert_eq!(answer.location(), "/profile");
    }
    assert_eq!(consumer.broker.calls(SESSION).len(), 2);
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
    let visits = (0..2).map(|_| async {
        let request = browser.request(Method::Get, "/callback");
        Answer::of(request.dispatch().await).await
    });
    let answers = join_all(visits).await;
    let mut targets: Vec<_> = answers.iter().map(Answer::location).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["/callback", "/profile"]);
    // The old cookie opens nothing, the new one does.
    assert_eq!(browser.get("/callback").await.problem(), "no_session");
    browser.set_cookie(answers.iter().find_map(Answer::set_cookie));
    assert_eq!(browser.get("/callback").await.location(), "/profile");
    assert_eq!(consumer.broker.calls(RESULT).len(), 1);
}
