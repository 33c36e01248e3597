//! C10 and C11: accounts.

use rocket::http::Status;

use crate::scripted_broker::{RESULT, ada, grace, profile, succeeded};
use crate::test_consumer::TestConsumer;

#[rocket::async_test]
async fn c11_two_subjects_with_one_address_are_two_accounts_and_share_no_note() {
    let consumer = TestConsumer::new().await;
    let [one, two] = ["sub_1", "sub_2"].map(|it| profile(it, "Ada", "same@example.org"));
    let browser = consumer.signed_in(&one).await;
    let note = "note=the+key+is+under+the+mat";
    assert_eq!(browser.submit("/note", note).await.outcome(), "/profile");

    let other = consumer.signed_in(&two).await.get("/profile").await;
    assert_eq!(other.field("subject"), "sub_2");
    assert_eq!(other.field("signIns"), "1");
    assert!(!other.body.contains("under the mat"));
    let again = consumer.signed_in(&one).await.get("/profile").await;
    assert_eq!(again.field("subject"), "sub_1");
    assert_eq!(again.field("signIns"), "2");
    assert!(again.body.contains("under the mat"));
}

#[rocket::async_test]
async fn c11_one_subject_with_a_new_address_is_one_account() {
    let consumer = TestConsumer::new().await;
    let [old, new] = ["old", "new"].map(|it| profile("sub_1", "One", &format!("{it}@x.example")));
    consumer.signed_in(&old).await;
    consumer.advance(120);
    let profile = consumer.signed_in(&new).await.get("/profile").await;
    assert_eq!(profile.field("email"), "new@x.example");
    assert_eq!(profile.field("signIns"), "2");
    assert_eq!(profile.field("firstSeen"), "2027-01-15 08:00 UTC");
    assert_eq!(profile.field("lastSeen"), "2027-01-15 08:02 UTC");
}

#[rocket::async_test]
async fn c10_signing_in_while_signed_in_replaces() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    browser.start_clean("google").await;
    assert_eq!(browser.user().await, "sub_ada");
    consumer.broker.answer_next(RESULT, succeeded(&grace()));
    browser.callback().await;
    assert_eq!(browser.user().await, "sub_grace");

    // Ada's account is as it was.
    let other = consumer.signed_in(&ada()).await;
    assert_eq!(other.get("/profile").await.field("signIns"), "2");
}

#[rocket::async_test]
async fn a_note_without_a_user_or_beyond_its_length_is_kept_nowhere() {
    let consumer = TestConsumer::new().await;
    let visitor = consumer.browser();
    assert_eq!(visitor.submit("/note", "note=x").await.outcome(), "/");
    let browser = consumer.signed_in(&ada()).await;
    let long = format!("note={}", "x".repeat(501));
    let refused = browser.submit("/note", &long).await;
    assert_eq!(refused.status, Status::PayloadTooLarge);
    assert!(!browser.get("/profile").await.body.contains("xxx"));
}
