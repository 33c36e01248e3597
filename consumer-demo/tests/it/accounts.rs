//! C11: accounts.

use rocket::http::Status;

use crate::scripted_broker::{ada, profile};
use crate::test_consumer::TestConsumer;

#[rocket::async_test]
async fn c11_a_subject_is_an_account_with_a_note_of_its_own_whatever_its_address() {
    let consumer = TestConsumer::new().await;
    let old = profile("sub_1", "Ada", "old@example.org");
    let browser = consumer.signed_in(&old).await;
    let note = "note=the+key+is+under+the+mat";
    assert_eq!(browser.submit("/note", note).await.outcome(), "/profile");

    consumer.advance(120);
    for (subject, address, sign_ins, first_seen, has_note) in [
        ("sub_2", "old@example.org", "1", "08:02", false),
        ("sub_1", "new@example.org", "2", "08:00", true),
    ] {
        let browser = consumer.signed_in(&profile(subject, "Ada", address)).await;
        let page = browser.get("/profile").await;
        let times = [first_seen, "08:02"].map(|it| format!("2027-01-15 {it} UTC"));
        for (field, value) in [
            ("subject", subject),
            ("email", address),
            ("signIns", sign_ins),
            ("firstSeen", &times[0]),
            ("lastSeen", &times[1]),
        ] {
            assert_eq!(page.field(field), value);
        }
        assert_eq!(page.body.contains("under the mat"), has_note);
    }
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
