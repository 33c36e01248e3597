//! The contents of the pages, C18 among them, and the headers of every answer; and C11:
//! accounts.

use std::time::Duration;

use rocket::http::{Status, StatusClass};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::scripted_broker::{PROVIDERS, ada, ok, profile};
use crate::test_consumer::TestConsumer;

#[rocket::async_test]
async fn home_offers_both_providers_by_both_flows_and_says_how_each_provider_is() {
    let limit = Duration::from_millis(500);
    let consumer = TestConsumer::with_config(|config| config.best_effort_timeout = limit).await;
    let status = |configured: bool, enabled: bool, available: bool| {
        let of = |id: &str| json!({"id": id, "configured": configured, "enabled": enabled, "available": available});
        ok(json!([of("google"), of("github")]))
    };
    let html = ResponseTemplate::new(200).set_body_string("<html>");
    let slow = ok(json!([])).set_delay(limit * 60);
    for (health, answer) in [
        ("working", status(true, true, true)),
        ("troubled\">Recent problems", status(true, true, false)),
        ("off\">Not offered at the moment", status(true, false, true)),
        ("off\">Not offered at the moment", status(false, true, true)),
        ("unknown\">Status unknown", ResponseTemplate::new(500)),
        ("unknown\">Status unknown", html),
        ("unknown\">Status unknown", slow),
    ] {
        consumer.broker.answer_next(PROVIDERS, answer);
        let page = consumer.browser().get("/").await;
        assert_eq!(page.status, Status::Ok);
        let count = |text: &str| page.body.matches(text).count();
        for flow in ["clean", "legacy"] {
            for provider in ["google", "github"] {
                let start = format!("data-start=\"{flow}-{provider}\"");
                assert_eq!(count(&start), 1, "{start}");
            }
        }
        // What works needs no words.
        let shown = if health == "working" { 0 } else { 4 };
        let label = format!("data-health=\"{health}<");
        assert_eq!(count(&label), shown, "{health}");
        assert_eq!(count("data-health="), shown, "{health}");
        let off = if health.starts_with("off") { 4 } else { 0 };
        assert_eq!(count(" disabled>"), off, "{health}");
        let is_unreachable = health.starts_with("unknown");
        assert_eq!(count("id=\"unreachable\""), usize::from(is_unreachable));
        assert_eq!(count("sign-out"), 0);
    }
}

// Threats: A4, M8.
#[rocket::async_test]
async fn every_page_shows_the_user_loads_nothing_from_elsewhere_and_has_the_same_headers() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.signed_in(&ada()).await;
    for path in ["/", "/profile", "/legacy/callback"] {
        let page = browser.get(path).await.body;
        assert!(page.contains("<strong>Ada Lovelace</strong>"), "{path}");
        assert_eq!(page.matches(r#"id="sign-out""#).count(), 1, "{path}");
    }
    for asset in ["/style.css", "/icon.svg"] {
        assert_eq!(browser.get(asset).await.status, Status::Ok);
    }
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
        for (name, value) in [
            ("referrer-policy", Some("strict-origin-when-cross-origin")),
            ("x-content-type-options", Some("nosniff")),
            ("cache-control", Some("no-store")),
            ("server", None),
        ] {
            assert_eq!(answer.header(name), value);
        }
        if answer.status.class() == StatusClass::Redirection {
            // 307 and 308 would have a browser repeat a body at the new address.
            assert_eq!(answer.status, Status::SeeOther);
            continue;
        }
        let page = &answer.body;
        for elsewhere in ["<script", "<style", "src=\"http", "style=\""] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
        for once in ["<html lang=\"en\">", "<h1", "<main"] {
            assert_eq!(page.matches(once).count(), 1, "{once}");
        }
    }
}

/// Ada's profile with these values of fields.
fn profile_with(fields: &[&str], value: impl Into<Value> + Copy) -> Value {
    let mut profile = ada();
    for field in fields {
        profile[*field] = value.into();
    }
    profile
}

const NULLABLE: [&str; 4] = ["name", "username", "email", "avatarUrl"];

#[rocket::async_test]
async fn c18_a_picture_comes_over_https_and_without_a_referrer() {
    let consumer = TestConsumer::new().await;
    for (url, is_shown) in [
        ("https://pictures.example/a.png", true),
        ("http://pictures.example/a.png", false),
        ("javascript:alert(1)", false),
        ("data:image/svg+xml,<svg/>", false),
        ("//pictures.example/a.png", false),
    ] {
        let browser = consumer.signed_in(&profile_with(&["avatarUrl"], url)).await;
        let page = browser.get("/profile").await.body;
        assert_eq!(page.contains(&format!("src=\"{url}\"")), is_shown, "{url}");
        let is_quiet = page.contains(r#"referrerpolicy="no-referrer""#);
        assert_eq!(is_quiet, is_shown, "{url}");
    }
}

#[rocket::async_test]
async fn an_account_without_any_name_has_a_page() {
    let consumer = TestConsumer::new().await;
    let nameless = profile_with(&NULLABLE, ());
    let page = consumer.signed_in(&nameless).await.get("/profile").await;
    for (field, value) in nameless.as_object().unwrap() {
        assert_eq!(page.field(field) == "not given", value.is_null(), "{field}");
    }
    assert!(page.body.contains("<strong>sub_ada</strong>"));
}

#[rocket::async_test]
async fn a_callback_address_is_not_repeated_on_any_page() {
    let consumer = TestConsumer::new().await;
    let browser = consumer.browser();
    browser.start_clean("google").await;
    for path in [
        "/legacy/callback?state=%3Cscript%3Ehello",
        "/legacy/callback?error=%3Cscript%3Ehello",
        "/nowhere/%3Cscript%3Ehello",
        "/login/hello",
    ] {
        assert!(!browser.get(path).await.body.contains("hello"), "{path}");
    }
}

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
