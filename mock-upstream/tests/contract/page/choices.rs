//! The choices on the sign-in page.

use mock_upstream::Provider;

use super::{choose, handle, interactive, page};
use crate::test_mock::{CALLBACK, authorization, redemption};

#[tokio::test]
async fn a_chosen_user_gets_a_303_with_a_code_that_works() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let handle = handle(&page(&mock, provider).await);
        let response = choose(&mock, provider, &handle, &[("person", "musa")]).await;
        assert_eq!(response.status, 303);
        assert!(response.header("location").starts_with(CALLBACK));
        let code = response.callback().get("code").unwrap().to_owned();
        let answer = mock.token(provider, &redemption(&code)).await;
        assert!(answer.json()["access_token"].is_string());
    }
}

// Seen in server logs: `prompt` echoes what Google did.
#[tokio::test]
async fn google_repeats_the_consent_given_on_the_page() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::Google).await);
    let response = choose(&mock, Provider::Google, &handle, &[("person", "ada")]).await;
    assert_eq!(response.callback().get("prompt"), Some("consent"));
}

#[tokio::test]
async fn cancelling_is_access_denied() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        assert!(
            response
                .body
                .contains(r#"<button id="cancel" name="misbehave" value="deny">"#)
        );
        let response = choose(
            &mock,
            provider,
            &handle(&response),
            &[("misbehave", "deny")],
        )
        .await;
        assert_eq!(response.status, 303);
        assert_eq!(response.callback().get("error"), Some("access_denied"));
    }
}

#[tokio::test]
async fn any_other_user_can_sign_in_by_the_form() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::GitHub).await);
    let fields = [
        ("person", "other"),
        ("id", "77"),
        ("username", "someone"),
        ("email", "someone@people.example"),
        ("email_verified", "true"),
        ("email_private", "true"),
    ];
    let response = choose(&mock, Provider::GitHub, &handle, &fields).await;
    let code = response.callback().get("code").unwrap().to_owned();
    let token = mock
        .token(Provider::GitHub, &redemption(&code))
        .await
        .text("access_token");
    let response = mock.get_with_token(Provider::GitHub, "/user", &token);
    let body = response.await.json();
    assert_eq!(body["id"], 77);
    assert_eq!(body["login"], "someone");
    assert_eq!(body["email"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_refused_account_keeps_its_values_and_marks_the_field() {
    let mock = interactive().await;
    let provider = Provider::GitHub;
    let handle = handle(&page(&mock, provider).await);
    let fields = [
        ("person", "other"),
        ("id", "x\"1"),
        ("name", "Ada & Co"),
        ("username", "octo"),
        ("email", "octo@people.example"),
        ("email_verified", "true"),
        ("again", "true"),
    ];
    let response = choose(&mock, provider, &handle, &fields).await;
    response.assert_page(400, r#"id="problem" role="alert""#);
    for part in [
        r#"<details id="someone-else" open>"#,
        r#"value="x&#34;1""#,
        r#"value="Ada &#38; Co""#,
        r#"value="octo""#,
        r#"value="octo@people.example""#,
        r#"name="email_verified" value="true" checked"#,
        r#"name="again" value="true" checked"#,
        r#"aria-invalid="true" aria-describedby="id-message""#,
        "Use digits without leading zeros",
    ] {
        assert!(response.body.contains(part), "{part} in {}", response.body);
    }
    assert!(
        !response
            .body
            .contains(r#"name="email_private" value="true" checked"#)
    );
}

#[tokio::test]
async fn a_page_that_is_over_leads_back_to_the_app() {
    let mock = interactive().await;
    let provider = Provider::Google;
    let ada = [("person", "ada")];
    let handle = handle(&page(&mock, provider).await);
    choose(&mock, provider, &handle, &ada).await;
    let origin = r#"id="back" href="http://127.0.0.1:8000""#;
    let over = choose(&mock, provider, &handle, &ada).await;
    over.assert_page(400, origin);
    // Of a page that was never shown it knows no app.
    let unknown = choose(&mock, provider, "unknown", &ada).await;
    assert!(!unknown.body.contains(r#"id="back""#));

    mock.upstreams.set_app_url("http://localhost:3000");
    for handle in [handle.as_str(), "unknown"] {
        let over = choose(&mock, provider, handle, &ada).await;
        over.assert_page(400, r#"id="back" href="http://localhost:3000""#);
    }
}

#[tokio::test]
async fn an_invalid_choice_shows_the_page_again_and_keeps_the_sign_in() {
    let mock = interactive().await;
    let provider = Provider::GitHub;
    let handle = handle(&page(&mock, provider).await);
    let wrong: [&[_]; 4] = [
        &[("person", "other"), ("id", "<b>ada</b>")],
        &[("person", "unknown")],
        &[("misbehave", "bad_signature")],
        &[],
    ];
    for pairs in wrong {
        let response = choose(&mock, provider, &handle, pairs).await;
        response.assert_page(400, r#"role="alert""#);
        assert!(!response.body.contains("ada</b>"));
    }
    let response = choose(&mock, provider, &handle, &[("person", "ada")]).await;
    assert_eq!(response.status, 303);
}

// A choice on the page is consent, and the callback says so.
#[tokio::test]
async fn a_choice_on_googles_page_gives_a_refresh_token_each_time() {
    let mock = interactive().await;
    for _ in 0..2 {
        let params = authorization(Provider::Google).with("access_type", "offline");
        let handle = handle(&mock.authorize(Provider::Google, &params).await);
        let response = choose(&mock, Provider::Google, &handle, &[("person", "ada")]).await;
        assert_eq!(response.callback().get("prompt"), Some("consent"));
        let code = response.callback().get("code").unwrap().to_owned();
        let answer = mock.token(Provider::Google, &redemption(&code)).await;
        assert!(answer.text("refresh_token").starts_with("1//"));
    }
}

#[tokio::test]
async fn a_choice_is_made_once() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::Google).await);
    let ada = [("person", "ada")];
    let first = choose(&mock, Provider::Google, &handle, &ada).await;
    let second = choose(&mock, Provider::Google, &handle, &ada).await;
    assert_eq!(first.status, 303);
    second.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn a_choice_without_a_checked_request_is_refused() {
    let mock = interactive().await;
    let forged = [
        ("person", "ada"),
        ("redirect_uri", "https://attacker.example/"),
    ];
    let response = choose(&mock, Provider::Google, "forged", &forged).await;
    response.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn parameters_in_the_form_do_not_change_the_checked_request() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::Google).await);
    let pairs = [
        ("person", "ada"),
        ("redirect_uri", "https://attacker.example/"),
        ("state", "x"),
    ];
    let response = choose(&mock, Provider::Google, &handle, &pairs).await;
    assert!(response.header("location").starts_with(CALLBACK));
    assert_ne!(response.callback().get("state"), Some("x"));
}

#[tokio::test]
async fn a_page_expires_after_an_hour() {
    let mock = interactive().await;
    let in_time = handle(&page(&mock, Provider::Google).await);
    let too_late = handle(&page(&mock, Provider::Google).await);
    let ada = [("person", "ada")];
    mock.advance_ms(3_599_999);
    let response = choose(&mock, Provider::Google, &in_time, &ada).await;
    assert_eq!(response.status, 303);
    mock.advance_ms(1);
    let response = choose(&mock, Provider::Google, &too_late, &ada).await;
    response.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn a_reset_forgets_the_pending_sign_ins() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::GitHub).await);
    mock.upstreams.reset();
    let response = choose(&mock, Provider::GitHub, &handle, &[("person", "ada")]).await;
    response.assert_page(400, "This sign-in is over");
}
