//! Google's token and revocation endpoints.

use serde_json::json;

use crate::test_mock::{CLIENT_ID, GOOGLE, Params, Response, TestMock, authorization, redemption};

// Fields: "OAuth 2.0 for Web Server Applications"; 3599: seen by clients.
#[tokio::test]
async fn a_token_response_has_googles_members_and_no_refresh_token() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in(GOOGLE).await;
    let media_type = "application/json; charset=utf-8";
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), media_type);
    assert!(answer.header("cache-control").contains("no-store"));
    let members = "access_token expires_in id_token scope token_type";
    assert_eq!(answer.members(), members);
    assert_eq!(answer.text("token_type"), "Bearer");
    assert_eq!(answer.json()["expires_in"], 3599);
    assert!(answer.text("access_token").starts_with("ya29."));
    let scope = "openid https://www.googleapis.com/auth/userinfo.email \
                 https://www.googleapis.com/auth/userinfo.profile";
    assert_eq!(answer.text("scope"), scope);
}

#[tokio::test]
async fn of_sixteen_concurrent_redemptions_one_succeeds() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await);
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        racers.spawn(Response::of(mock.token_call(GOOGLE).form(&form.0)));
    }
    let responses = racers.join_all().await;
    let successes = responses.iter().filter(|it| it.status == 200);
    assert_eq!(successes.count(), 1);
}

// oauth4webapi#119: Google does not let PKCE be stripped.
#[tokio::test]
async fn a_verifier_without_a_challenge_is_refused() {
    let mock = TestMock::new().await;
    let params = authorization(GOOGLE).changed("-code_challenge; -code_challenge_method");
    let response = mock.sign_in_with(GOOGLE, &params).await;
    let error = "400 invalid_grant: code_verifier or verifier is not needed.";
    assert_eq!(response.error(), error);
}

#[tokio::test]
async fn a_body_that_is_not_a_form_is_refused() {
    let mock = TestMock::new().await;
    let body = json!({ "code": mock.code(GOOGLE).await, "client_id": CLIENT_ID });
    let response = Response::of(mock.token_call(GOOGLE).json(&body)).await;
    assert_eq!(response.status, 400);
}

#[tokio::test]
async fn a_revoked_token_is_refused() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    let form = Params::of(&[("token", &token)]);
    assert_eq!(mock.post(GOOGLE, "/revoke", &form).await.status, 200);
    let userinfo = mock.get_with(&token, GOOGLE, "/v1/userinfo").await;
    assert_eq!(userinfo.status, 401);
    assert_eq!(mock.post(GOOGLE, "/revoke", &form).await.status, 400);
}

/// The refresh token of a sign-in with this prompt.
async fn refresh_token(mock: &TestMock, access: &str, prompt: &str) -> Option<String> {
    let params = authorization(GOOGLE).with("access_type", access);
    let params = params.with("prompt", prompt);
    let body = mock.sign_in_with(GOOGLE, &params).await.json();
    Some(body.get("refresh_token")?.as_str()?.to_owned())
}

// "OAuth 2.0 for Web Server Applications": on the first exchange only; `1//…`. googleapis
// advises a client that lost its refresh token to send `prompt=consent`.
#[tokio::test]
async fn a_refresh_token_is_for_the_first_offline_access_and_for_each_consent() {
    let mock = TestMock::new().await;
    for (access, prompt, issued) in [
        ("online", "", false),
        ("offline", "", true),
        ("offline", "", false),
        ("offline", "consent", true),
        ("offline", "consent", true),
        ("online", "consent", false),
    ] {
        let token = refresh_token(&mock, access, prompt).await;
        let looks_right = |token: String| token.starts_with("1//");
        let token = token.map(looks_right);
        assert_eq!(token, issued.then_some(true), "{access} {prompt}");
    }
    mock.upstreams.google().reset();
    let first = refresh_token(&mock, "offline", "consent").await;
    assert_ne!(first, refresh_token(&mock, "offline", "consent").await);
    assert_eq!(refresh_token(&mock, "offline", "").await, None);
    mock.upstreams.google().reset();
    assert!(refresh_token(&mock, "offline", "").await.is_some());
}
