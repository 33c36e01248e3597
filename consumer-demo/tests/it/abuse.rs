//! C18: profiles with hostile values, and how pages show them.

use crate::scripted_broker::{RESULT, ada, succeeded};
use crate::test_consumer::TestConsumer;

const NASTY: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus='alert(1)",
    "{{ 7 * 7 }}<!--",
    "</td></table><form action=//evil.example>",
];

#[rocket::async_test]
async fn c18_every_field_of_a_profile_is_escaped() {
    for field in [
        "subject",
        "providerSubject",
        "name",
        "username",
        "email",
        "avatarUrl",
    ] {
        for nasty in NASTY {
            let mut profile = ada();
            profile[field] = nasty.into();
            let consumer = TestConsumer::new().await;
            let browser = consumer.signed_in(&profile).await;
            for path in ["/profile", "/"] {
                let page = browser.get(path).await;
                assert!(!page.body.contains(nasty), "{field}: {nasty}");
            }
        }
    }
}

#[rocket::async_test]
async fn c18_a_picture_comes_over_https_and_without_a_referrer() {
    for (url, is_shown) in [
        ("https://pictures.example/a.png", true),
        ("http://pictures.example/a.png", false),
        ("javascript:alert(1)", false),
        ("data:image/svg+xml,<svg/>", false),
        ("//pictures.example/a.png", false),
    ] {
        let mut profile = ada();
        profile["avatarUrl"] = url.into();
        let consumer = TestConsumer::new().await;
        let page = consumer.signed_in(&profile).await.get("/profile").await;
        assert_eq!(
            page.body.contains(&format!("src=\"{url}\"")),
            is_shown,
            "{url}"
        );
        assert_eq!(
            page.body.contains(r#"referrerpolicy="no-referrer""#),
            is_shown
        );
    }
}

#[rocket::async_test]
async fn an_account_without_any_name_has_a_page() {
    let consumer = TestConsumer::new().await;
    let mut profile = ada();
    for field in ["name", "username", "email", "avatarUrl"] {
        profile[field] = serde_json::Value::Null;
    }
    let page = consumer.signed_in(&profile).await.get("/profile").await;
    for field in ["name", "username", "email", "avatarUrl"] {
        assert_eq!(page.field(field), "not given");
    }
    assert!(page.body.contains("<strong>sub_ada</strong>"));
}

#[rocket::async_test]
async fn a_callback_address_is_not_repeated_on_any_page() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    consumer.broker.answer_next(RESULT, succeeded(&ada()));
    for path in [
        "/legacy/callback?state=%3Cscript%3Ehello",
        "/legacy/callback?error=%3Cscript%3Ehello",
        "/nowhere/%3Cscript%3Ehello",
        "/login/hello",
    ] {
        assert!(!browser.get(path).await.body.contains("hello"), "{path}");
    }
}
