//! Google's token and revocation endpoints.

use reqwest::Method;

use super::GOOGLE;
use super::userinfo::userinfo;
use crate::test_mock::{
    CLIENT_ID, CLIENT_SECRET, Params, Response, SECOND_CALLBACK, TestMock, authorization,
    redemption, without_pkce,
};

async fn check_refused(
    change: impl FnOnce(Params) -> Params,
    status: u16,
    error: &str,
    description: &str,
) {
    let mock = TestMock::new().await;
    let form = change(redemption(&mock.code(GOOGLE).await));
    let response = mock.token(GOOGLE, &form).await;
    response.assert_error(status, error, description);
}

// Fields: "OAuth 2.0 for Web Server Applications"; 3599: seen by clients.
#[tokio::test]
async fn a_token_response_has_googles_members_and_no_refresh_token() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in(GOOGLE).await;
    let body = answer.json();
    let mut members: Vec<_> = body.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        "application/json; charset=utf-8"
    );
    assert!(answer.header("cache-control").contains("no-store"));
    let known = [
        "access_token",
        "expires_in",
        "id_token",
        "scope",
        "token_type",
    ];
    assert_eq!(members, known);
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], 3599);
    assert!(answer.text("access_token").starts_with("ya29."));
}

#[tokio::test]
async fn the_scope_of_a_token_has_the_long_names() {
    let mock = TestMock::new().await;
    let scope = "openid https://www.googleapis.com/auth/userinfo.email \
                 https://www.googleapis.com/auth/userinfo.profile";
    assert_eq!(mock.sign_in(GOOGLE).await.text("scope"), scope);
}

#[tokio::test]
async fn without_openid_there_is_no_id_token() {
    let mock = TestMock::new().await;
    let params = authorization(GOOGLE).with("scope", "email");
    let code = mock.code_for(GOOGLE, &params).await;
    let body = mock.token(GOOGLE, &redemption(&code)).await.json();
    assert_eq!(body.get("id_token"), None);
}

// Client notes: a used code is invalid_grant, "Bad Request".
#[tokio::test]
async fn a_code_works_once() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await);
    assert_eq!(mock.token(GOOGLE, &form).await.status, 200);
    let again = mock.token(GOOGLE, &form).await;
    again.assert_error(400, "invalid_grant", "Bad Request");
}

#[tokio::test]
async fn of_sixteen_concurrent_redemptions_one_succeeds() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await);
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let request = mock.request(Method::POST, &mock.token_url(GOOGLE));
        racers.spawn(Response::of(request.form(&form.0)));
    }
    let responses = racers.join_all().await;
    let successes = responses.iter().filter(|it| it.status == 200);
    assert_eq!(successes.count(), 1);
}

// The lifetime is not confirmed; the mock has a minute.
#[tokio::test]
async fn a_code_expires_after_a_minute() {
    let mock = TestMock::new().await;
    let in_time = redemption(&mock.code(GOOGLE).await);
    let too_late = redemption(&mock.code(GOOGLE).await);
    mock.advance_ms(59_999);
    assert_eq!(mock.token(GOOGLE, &in_time).await.status, 200);
    mock.advance_ms(1);
    let response = mock.token(GOOGLE, &too_late).await;
    response.assert_error(400, "invalid_grant", "Bad Request");
}

// googleworkspace/go-samples#85.
#[tokio::test]
async fn the_error_names_a_malformed_code() {
    let change = |form: Params| form.with("code", "4%2F0Aabc");
    check_refused(change, 400, "invalid_grant", "Malformed auth code.").await;
}

// google-api-php-client#2669.
#[tokio::test]
async fn the_error_names_a_missing_verifier() {
    let change = |form: Params| form.without("code_verifier");
    check_refused(change, 400, "invalid_grant", "Missing code verifier.").await;
}

// google-api-java-client#1479.
#[tokio::test]
async fn the_error_names_a_wrong_verifier_and_the_code_is_used_up() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await);
    let wrong = form.clone().with("code_verifier", &"x".repeat(43));
    let response = mock.token(GOOGLE, &wrong).await;
    response.assert_error(400, "invalid_grant", "Invalid code verifier.");
    assert_eq!(mock.token(GOOGLE, &form).await.status, 400);
}

// oauth4webapi#119: Google does not let PKCE be stripped.
#[tokio::test]
async fn a_verifier_without_a_challenge_is_refused() {
    let mock = TestMock::new().await;
    let params = without_pkce(authorization(GOOGLE));
    let code = mock.code_for(GOOGLE, &params).await;
    let response = mock.token(GOOGLE, &redemption(&code)).await;
    let description = "code_verifier or verifier is not needed.";
    response.assert_error(400, "invalid_grant", description);
}

// The error was seen; its description is not confirmed.
#[tokio::test]
async fn another_redirect_uri_is_refused() {
    let change = |form: Params| form.with("redirect_uri", SECOND_CALLBACK);
    check_refused(change, 400, "redirect_uri_mismatch", "Bad Request").await;
}

// Client tests of several projects.
#[tokio::test]
async fn an_unknown_client_is_401() {
    let change = |form: Params| form.with("client_id", "unknown");
    let description = "The OAuth client was not found.";
    check_refused(change, 401, "invalid_client", description).await;
}

// A client's table of errors.
#[tokio::test]
async fn a_wrong_secret_is_401_and_keeps_the_code() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await);
    let wrong = form.clone().with("client_secret", "guess");
    let response = mock.token(GOOGLE, &wrong).await;
    response.assert_error(401, "invalid_client", "Unauthorized");
    assert_eq!(mock.token(GOOGLE, &form).await.status, 200);
}

#[tokio::test]
async fn another_grant_type_is_refused() {
    let change = |form: Params| form.with("grant_type", "password");
    check_refused(change, 400, "unsupported_grant_type", "Invalid grant_type").await;
}

// Discovery lists client_secret_basic.
#[tokio::test]
async fn a_client_can_authenticate_with_basic() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await)
        .without("client_id")
        .without("client_secret");
    let request = mock.request(Method::POST, &mock.token_url(GOOGLE));
    let request = request.basic_auth(CLIENT_ID, Some(CLIENT_SECRET));
    assert_eq!(Response::of(request.form(&form.0)).await.status, 200);
}

#[tokio::test]
async fn a_body_that_is_not_a_form_is_refused() {
    let mock = TestMock::new().await;
    let code = mock.code(GOOGLE).await;
    let request = mock.request(Method::POST, &mock.token_url(GOOGLE));
    let body = serde_json::json!({ "code": code, "client_id": CLIENT_ID });
    assert_eq!(Response::of(request.json(&body)).await.status, 400);
}

#[tokio::test]
async fn a_revoked_token_is_refused() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    let url = format!("{}/revoke", mock.upstreams.google().url());
    let form = Params::of(&[("token", &token)]);
    assert_eq!(mock.post(&url, &form).await.status, 200);
    assert_eq!(userinfo(&mock, &token).await.status, 401);
    assert_eq!(mock.post(&url, &form).await.status, 400);
}

async fn offline(mock: &TestMock) -> Option<String> {
    offline_with(mock, authorization(GOOGLE)).await
}

/// The refresh token of a sign-in with offline access.
async fn offline_with(mock: &TestMock, params: Params) -> Option<String> {
    let code = mock
        .code_for(GOOGLE, &params.with("access_type", "offline"))
        .await;
    let body = mock.token(GOOGLE, &redemption(&code)).await.json();
    Some(body.get("refresh_token")?.as_str()?.to_owned())
}

// "OAuth 2.0 for Web Server Applications": on the first exchange only; `1//…`.
#[tokio::test]
async fn a_refresh_token_is_issued_once_and_only_for_offline_access() {
    let mock = TestMock::new().await;
    let online = mock.sign_in(GOOGLE).await.json();
    assert_eq!(online.get("refresh_token"), None);
    assert!(offline(&mock).await.unwrap().starts_with("1//"));
    assert_eq!(offline(&mock).await, None);
    mock.upstreams.google().reset();
    assert!(offline(&mock).await.is_some());
}

// googleapis advises a client that lost its refresh token to send `prompt=consent`.
#[tokio::test]
async fn prompt_consent_brings_a_refresh_token_each_time() {
    let mock = TestMock::new().await;
    let asking = authorization(GOOGLE).with("prompt", "consent");
    let first = offline_with(&mock, asking.clone()).await.unwrap();
    let second = offline_with(&mock, asking.clone()).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(offline(&mock).await, None);

    let online = mock.code_for(GOOGLE, &asking).await;
    let body = mock.token(GOOGLE, &redemption(&online)).await.json();
    assert_eq!(body.get("refresh_token"), None);
}

// Older texts; not confirmed.
#[tokio::test]
async fn the_older_description_of_a_used_code_can_be_chosen() {
    let older = "Code was already redeemed.";
    let mock =
        TestMock::with(|settings| settings.google.unconfirmed.google_used_code = older).await;
    let form = redemption(&mock.code(GOOGLE).await);
    mock.token(GOOGLE, &form).await;
    let again = mock.token(GOOGLE, &form).await;
    again.assert_error(400, "invalid_grant", older);
}

#[tokio::test]
async fn the_lifetime_of_a_code_can_be_chosen() {
    let mock = TestMock::with(|settings| {
        settings.google.unconfirmed.google_code_lifetime_seconds = 600;
    })
    .await;
    let form = redemption(&mock.code(GOOGLE).await);
    mock.advance_ms(599_999);
    assert_eq!(mock.token(GOOGLE, &form).await.status, 200);
}
