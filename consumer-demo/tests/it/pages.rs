//! The contents of the pages, and the headers of every answer.

use std::time::Duration;

use rocket::http::{Status, StatusClass};
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::scripted_broker::{PROVIDERS, ada, ok};
use crate::test_consumer::TestConsumer;

#[rocket::async_test]
async fn home_offers_both_providers_by_both_flows() {
    let consumer = TestConsumer::new().await;
    let page = consumer.browser().get("/").await;
    for hook in [
        "clean-google",
        "clean-github",
        "legacy-google",
        "legacy-github",
    ] {
        assert!(
            page.body.contains(&format!("data-start=\"{hook}\"")),
            "{hook}"
        );
    }
    assert!(!page.body.contains("disabled"));
    assert!(!page.body.contains("sign-out"));
}

#[rocket::async_test]
async fn home_shows_the_status_of_each_provider() {
    let consumer = TestConsumer::new().await;
    consumer.broker.answer_next(
        PROVIDERS,
        ok(json!([
            {"id": "google", "configured": true, "enabled": true, "available": false},
            {"id": "github", "configured": true, "enabled": false, "available": false},
        ])),
    );
    let page = consumer.browser().get("/").await.body;
    assert_eq!(page.matches("Recent problems").count(), 2);
    assert_eq!(page.matches("Not offered at the moment").count(), 2);
    assert_eq!(page.matches(" disabled>").count(), 2, "only what is off");
}

#[rocket::async_test]
async fn home_works_when_the_status_does_not_come() {
    for answer in [
        ResponseTemplate::new(500),
        ResponseTemplate::new(200).set_body_string("<html>"),
        ok(json!([])).set_delay(Duration::from_secs(30)),
    ] {
        let consumer = TestConsumer::with_config(|config| {
            config.best_effort_timeout = Duration::from_millis(50);
        })
        .await;
        consumer.broker.answer_next(PROVIDERS, answer);
        let page = consumer.browser().get("/").await;
        assert_eq!(page.status, Status::Ok);
        assert_eq!(page.body.matches("Status unknown").count(), 4);
        assert!(page.body.contains("id=\"unreachable\""));
        assert!(!page.body.contains(" disabled"));
    }
}

// Threats: M8.
#[rocket::async_test]
async fn every_page_shows_the_signed_in_user_and_a_sign_out_button() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    for path in ["/", "/profile", "/legacy/callback"] {
        let page = browser.get(path).await.body;
        assert!(page.contains("<strong>Ada Lovelace</strong>"), "{path}");
        assert_eq!(page.matches(r#"id="sign-out""#).count(), 1, "{path}");
    }
}

// Threats: A4.
#[rocket::async_test]
async fn every_answer_carries_the_same_security_headers() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    for answer in [
        browser.get("/").await,
        browser.get("/profile").await,
        browser.get("/callback").await,
        browser.get("/legacy/callback").await,
        browser.get("/login/google").await,
        browser.get("/nowhere").await,
        browser.press("/login/google").await,
        browser.press("/sign-out").await,
    ] {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"));
        assert!(policy.contains("frame-ancestors 'none'"));
        // It would block the redirect to the broker: see `server.rs`.
        assert!(!policy.contains("form-action"));
        assert_eq!(
            answer.header("referrer-policy"),
            Some("strict-origin-when-cross-origin")
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("server"), None);
        // 307 and 308 would have a browser repeat a body at the new address.
        let is_redirect = answer.status.class() == StatusClass::Redirection;
        assert!(!is_redirect || answer.status == Status::SeeOther);
    }
}

#[rocket::async_test]
async fn pages_load_nothing_from_elsewhere_and_run_nothing() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    for path in ["/", "/profile", "/legacy/callback", "/nowhere"] {
        let page = browser.get(path).await.body;
        assert!(!page.contains("<script") && !page.contains("<style"));
        assert!(!page.contains("src=\"http") && !page.contains("style=\""));
        assert!(page.contains("<html lang=\"en\">"));
        assert_eq!(page.matches("<h1").count(), 1, "{path}");
        assert_eq!(page.matches("<main").count(), 1, "{path}");
    }
    assert_eq!(browser.get("/style.css").await.status, Status::Ok);
    assert_eq!(browser.get("/icon.svg").await.status, Status::Ok);
}
