//! The choices on the sign-in page.

use mock_upstream::Provider;

use super::{choose, choose_on_a_page, handle, page};
use crate::test_mock::{
    CALLBACK, GITHUB, GOOGLE, Response, STATE, TestMock, authorization, redemption,
};

const ADA: &[(&str, &str)] = &[("person", "ada")];

const OVER: &str = "This sign-in is over";

/// The tokens for the code in a callback.
async fn tokens(mock: &TestMock, provider: Provider, chosen: &Response) -> Response {
    let code = chosen.callback().get("code").unwrap().to_owned();
    mock.token(provider, &redemption(&code)).await
}

#[tokio::test]
async fn a_choice_is_a_303_with_the_checked_request_and_is_made_once() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let handle = handle(&page(&mock, provider).await);
        let forged = [
            ("person", "musa"),
            ("redirect_uri", "https://attacker.example/"),
            ("state", "x"),
        ];
        let chosen = choose(&mock, provider, &handle, &forged).await;
        assert_eq!(chosen.status, 303);
        assert!(chosen.header("location").starts_with(CALLBACK));
        assert_eq!(chosen.callback().get("state"), Some(STATE));
        assert!(tokens(&mock, provider, &chosen).await.is_granted());
        for handle in [&handle, "forged"] {
            choose(&mock, provider, handle, &forged)
                .await
                .assert_page(400, OVER);
        }
    }
}

#[tokio::test]
async fn cancelling_is_access_denied() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let cancel = r#"<button id="cancel" name="misbehave" value="deny">"#;
        page(&mock, provider).await.assert_page(200, cancel);
        let chosen = choose_on_a_page(&mock, provider, &[("misbehave", "deny")]).await;
        assert_eq!(chosen.status, 303);
        assert_eq!(chosen.callback().get("error"), Some("access_denied"));
    }
}

#[tokio::test]
async fn any_other_user_can_sign_in_by_the_form() {
    let mock = TestMock::interactive().await;
    let fields = [
        ("person", "other"),
        ("id", "77"),
        ("username", "someone"),
        ("email", "someone@people.example"),
        ("email_verified", "true"),
        ("email_private", "true"),
    ];
    let chosen = choose_on_a_page(&mock, GITHUB, &fields).await;
    let token = tokens(&mock, GITHUB, &chosen).await.text("access_token");
    let body = mock.get_with(&token, GITHUB, "/user").await.json();
    assert_eq!(body["id"], 77);
    assert_eq!(body["login"], "someone");
    assert_eq!(body["email"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_refused_account_keeps_its_values_and_marks_the_field() {
    let mock = TestMock::interactive().await;
    let fields = [
        ("person", "other"),
        ("id", "x\"1"),
        ("name", "Ada & Co"),
        ("username", "octo"),
        ("email", "octo@people.example"),
        ("email_verified", "true"),
        ("again", "true"),
    ];
    let response = choose_on_a_page(&mock, GITHUB, &fields).await;
    for part in [
        r#"id="problem" role="alert""#,
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
        assert!(response.is_page(400, part), "{part} in {}", response.body);
    }
    let unchecked = r#"name="email_private" value="true" checked"#;
    assert!(!response.body.contains(unchecked));
}

#[tokio::test]
async fn an_invalid_choice_shows_the_page_again_and_keeps_the_sign_in() {
    let mock = TestMock::interactive().await;
    let handle = handle(&page(&mock, GITHUB).await);
    let wrong: [&[_]; 4] = [
        &[("person", "other"), ("id", "<b>ada</b>")],
        &[("person", "unknown")],
        &[("misbehave", "bad_signature")],
        &[],
    ];
    for pairs in wrong {
        let response = choose(&mock, GITHUB, &handle, pairs).await;
        response.assert_page(400, r#"role="alert""#);
        assert!(!response.body.contains("ada</b>"));
    }
    assert_eq!(choose(&mock, GITHUB, &handle, ADA).await.status, 303);
}

#[tokio::test]
async fn a_page_that_is_over_leads_back_to_the_app() {
    let mock = TestMock::interactive().await;
    let handle = handle(&page(&mock, GOOGLE).await);
    choose(&mock, GOOGLE, &handle, ADA).await;
    let over = choose(&mock, GOOGLE, &handle, ADA).await;
    over.assert_page(400, r#"id="back" href="http://127.0.0.1:8000""#);
    // Of a page that was never shown it knows no app.
    let unknown = choose(&mock, GOOGLE, "unknown", ADA).await;
    assert!(!unknown.body.contains(r#"id="back""#));

    mock.upstreams.set_app_url("http://localhost:3000");
    for handle in [handle.as_str(), "unknown"] {
        let over = choose(&mock, GOOGLE, handle, ADA).await;
        over.assert_page(400, r#"id="back" href="http://localhost:3000""#);
    }
}

// A choice on the page is consent, and the callback says so: seen in server logs.
#[tokio::test]
async fn a_choice_on_googles_page_gives_a_refresh_token_each_time() {
    let mock = TestMock::interactive().await;
    for _ in 0..2 {
        let params = authorization(GOOGLE).with("access_type", "offline");
        let handle = handle(&mock.authorize(GOOGLE, &params).await);
        let chosen = choose(&mock, GOOGLE, &handle, ADA).await;
        assert_eq!(chosen.callback().get("prompt"), Some("consent"));
        let token = tokens(&mock, GOOGLE, &chosen).await.text("refresh_token");
        assert!(token.starts_with("1//"));
    }
}

#[tokio::test]
async fn a_page_expires_after_an_hour_and_with_a_reset() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let in_time = handle(&page(&mock, provider).await);
        let too_late = handle(&page(&mock, provider).await);
        mock.advance_ms(3_599_999);
        assert_eq!(choose(&mock, provider, &in_time, ADA).await.status, 303);
        mock.advance_ms(1);
        choose(&mock, provider, &too_late, ADA)
            .await
            .assert_page(400, OVER);
        let forgotten = handle(&page(&mock, provider).await);
        mock.upstreams.reset();
        choose(&mock, provider, &forgotten, ADA)
            .await
            .assert_page(400, OVER);
    }
}
