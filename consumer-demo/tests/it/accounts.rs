//! C10 and C11: accounts.

use rocket::http::Status;

use crate::scripted_broker::{RESULT, ada, grace, profile, succeeded};
use crate::test_consumer::TestConsumer;

#[rocket::async_test]
async fn c11_two_subjects_with_one_address_are_two_accounts() {
    let consumer = TestConsumer::new().await;
    let one = consumer
        .signed_in(&profile("sub_1", "One", "same@example.org"))
        .await;
    let two = consumer
        .signed_in(&profile("sub_2", "Two", "same@example.org"))
        .await;
    assert_eq!(one.get("/profile").await.field("subject"), "sub_1");
    assert_eq!(two.get("/profile").await.field("subject"), "sub_2");
    assert_eq!(two.get("/profile").await.field("signIns"), "1");
}

#[rocket::async_test]
async fn c11_one_subject_with_a_new_address_is_one_account() {
    let consumer = TestConsumer::new().await;
    consumer
        .signed_in(&profile("sub_1", "One", "old@example.org"))
        .await;
    consumer.advance(120);
    let browser = consumer
        .signed_in(&profile("sub_1", "One", "new@example.org"))
        .await;
    let profile = browser.get("/profile").await;
    assert_eq!(profile.field("email"), "new@example.org");
    assert_eq!(profile.field("signIns"), "2");
    assert_ne!(profile.field("firstSeen"), profile.field("lastSeen"));
}

#[rocket::async_test]
async fn c10_signing_in_while_signed_in_replaces() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    browser.start_clean("google").await;
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_ada");
    consumer.broker.answer_next(RESULT, succeeded(&grace()));
    browser.get("/callback").await;
    assert_eq!(browser.get("/profile").await.field("subject"), "sub_grace");

    // Ada's account is as it was.
    let other = consumer.signed_in(&ada()).await;
    assert_eq!(other.get("/profile").await.field("signIns"), "2");
}

#[rocket::async_test]
async fn c11_a_note_is_seen_by_its_own_account_and_by_no_other_of_the_address() {
    let consumer = TestConsumer::new().await;
    let owner = profile("sub_1", "One", "same@example.org");
    let browser = consumer.signed_in(&owner).await;
    let kept = browser
        .submit("/note", "note=the+key+is+under+the+mat")
        .await;
    assert_eq!(kept.status, Status::SeeOther);

    let other = consumer
        .signed_in(&profile("sub_2", "Two", "same@example.org"))
        .await;
    assert!(!other.get("/profile").await.body.contains("under the mat"));
    let again = consumer.signed_in(&owner).await;
    assert!(again.get("/profile").await.body.contains("under the mat"));
}

#[rocket::async_test]
async fn a_note_without_a_user_or_beyond_its_length_is_kept_nowhere() {
    let consumer = TestConsumer::new().await;
    let visitor = consumer.browser();
    assert_eq!(visitor.submit("/note", "note=x").await.location(), "/");
    let browser = consumer.signed_in(&ada()).await;
    let long = format!("note={}", "x".repeat(501));
    let refused = browser.submit("/note", &long).await;
    assert_eq!(refused.status, Status::PayloadTooLarge);
    assert!(!browser.get("/profile").await.body.contains("xxx"));
}
