//! GitHub's token endpoint.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::GITHUB;
use crate::test_mock::{
    CLIENT_ID, CLIENT_SECRET, Params, Response, SECOND_CALLBACK, TestMock, redemption,
};

const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#";

async fn check_refused(change: impl FnOnce(Params) -> Params, error: &str, description: &str) {
    let mock = TestMock::new().await;
    let form = change(redemption(&mock.code(GITHUB).await));
    let response = mock.token(GITHUB, &form).await;
    response.assert_error(200, error, description);
    let anchor = error.replace('_', "-");
    assert_eq!(response.text("error_uri"), format!("{ERROR_URI}{anchor}"));
}

// "Authorizing OAuth apps": commas, `bearer` in lower case.
#[tokio::test]
async fn a_token_response_has_githubs_members_alone() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in(GITHUB).await;
    let body = answer.json();
    let mut members: Vec<_> = body.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(answer.status, 200);
    assert_eq!(members, ["access_token", "scope", "token_type"]);
    assert_eq!(body["scope"], "read:user,user:email");
    assert_eq!(body["token_type"], "bearer");
}

// github.blog, 2021: `^gho_[A-Za-z0-9]{36}$`.
#[tokio::test]
async fn a_token_is_gho_with_36_letters_or_digits() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GITHUB).await.text("access_token");
    let random = token.strip_prefix("gho_").unwrap();
    assert_eq!(random.len(), 36);
    assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
}

// "Authorizing OAuth apps": a form, unless Accept asks for JSON.
#[tokio::test]
async fn the_response_is_a_form_unless_json_is_accepted() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await);
    let response = mock.post(&mock.token_url(GITHUB), &form).await;
    let content_type = "application/x-www-form-urlencoded; charset=utf-8";
    assert_eq!(response.header("content-type"), content_type);
    assert!(response.body.starts_with("access_token=gho_"));
    assert!(
        response
            .body
            .ends_with("&scope=read%3Auser%2Cuser%3Aemail&token_type=bearer")
    );
}

// gerrit-oauth-provider#71.
#[tokio::test]
async fn an_error_is_a_form_too() {
    let mock = TestMock::new().await;
    let response = mock
        .post(&mock.token_url(GITHUB), &redemption("none"))
        .await;
    let pairs: Vec<_> = form_urlencoded::parse(response.body.as_bytes()).collect();
    assert_eq!(response.status, 200);
    assert_eq!(pairs[0], ("error".into(), "bad_verification_code".into()));
    assert_eq!(pairs[2].0, "error_uri");
}

// octokit/auth-oauth-app.js#13.
#[tokio::test]
async fn the_headers_are_githubs() {
    let mock = TestMock::new().await;
    let response = mock.token(GITHUB, &redemption("none")).await;
    let caching = "max-age=0, private, must-revalidate";
    assert_eq!(
        response.header("content-type"),
        "application/json; charset=utf-8"
    );
    assert_eq!(response.header("cache-control"), caching);
}

const BAD_CODE: &str = "The code passed is incorrect or expired.";

// "Troubleshooting OAuth app access token request errors", as all that follow.
#[tokio::test]
async fn an_unknown_code_is_refused_with_status_200() {
    let change = |form: Params| form.with("code", "0123456789abcdef0123");
    check_refused(change, "bad_verification_code", BAD_CODE).await;
}

#[tokio::test]
async fn a_code_works_once() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await);
    assert_eq!(mock.token(GITHUB, &form).await.text("token_type"), "bearer");
    let again = mock.token(GITHUB, &form).await;
    again.assert_error(200, "bad_verification_code", BAD_CODE);
}

// "Authorizing OAuth apps": ten minutes.
#[tokio::test]
async fn a_code_expires_after_ten_minutes() {
    let mock = TestMock::new().await;
    let in_time = redemption(&mock.code(GITHUB).await);
    let too_late = redemption(&mock.code(GITHUB).await);
    mock.advance_ms(599_999);
    assert_eq!(
        mock.token(GITHUB, &in_time).await.text("token_type"),
        "bearer"
    );
    mock.advance_ms(1);
    let response = mock.token(GITHUB, &too_late).await;
    response.assert_error(200, "bad_verification_code", BAD_CODE);
}

#[tokio::test]
async fn a_wrong_client_is_refused_and_keeps_the_code() {
    let description = "The client_id and/or client_secret passed are incorrect.";
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await);
    for (name, value) in [("client_id", "unknown"), ("client_secret", "guess")] {
        let response = mock.token(GITHUB, &form.clone().with(name, value)).await;
        response.assert_error(200, "incorrect_client_credentials", description);
    }
    assert_eq!(mock.token(GITHUB, &form).await.text("token_type"), "bearer");
}

#[tokio::test]
async fn another_redirect_uri_is_refused() {
    let change = |form: Params| form.with("redirect_uri", SECOND_CALLBACK);
    let description =
        "The redirect_uri MUST match the registered callback URL for this application.";
    check_refused(change, "redirect_uri_mismatch", description).await;
}

// "Authorizing OAuth apps": recommended, not required.
#[tokio::test]
async fn the_redirect_uri_is_optional() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await).without("redirect_uri");
    let answer = mock.token(GITHUB, &form).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

// fastmcp#1724; the status is not confirmed.
#[tokio::test]
async fn a_missing_verifier_is_refused() {
    let change = |form: Params| form.without("code_verifier");
    let description = "A code_verifier was not included, but the authorization request included a code_challenge. Codes requested with a code_challenge MUST be redeemed with a code_verifier.";
    check_refused(change, "invalid_grant", description).await;
}

// The error is not confirmed.
#[tokio::test]
async fn a_wrong_verifier_is_refused() {
    let change = |form: Params| form.with("code_verifier", &"x".repeat(43));
    check_refused(change, "bad_verification_code", BAD_CODE).await;
}

// fastmcp#1724 shows the error and not the status.
#[tokio::test]
async fn the_status_for_a_missing_verifier_can_be_chosen() {
    let mock = TestMock::with(|settings| {
        settings.github.unconfirmed.github_missing_verifier_status = 400;
    })
    .await;
    let form = redemption(&mock.code(GITHUB).await).without("code_verifier");
    let response = mock.token(GITHUB, &form).await;
    assert_eq!(response.status, 400);
    assert_eq!(response.text("error"), "invalid_grant");
}

// Not confirmed.
#[tokio::test]
async fn the_error_for_a_wrong_verifier_can_be_chosen() {
    let mock = TestMock::with(|settings| {
        settings.github.unconfirmed.github_wrong_verifier_error = "invalid_grant";
    })
    .await;
    let form = redemption(&mock.code(GITHUB).await).with("code_verifier", &"x".repeat(43));
    let response = mock.token(GITHUB, &form).await;
    assert_eq!(response.text("error"), "invalid_grant");
}

/// A token call that accepts JSON, without its body.
fn token_call(mock: &TestMock) -> RequestBuilder {
    let request = mock.request(Method::POST, &mock.token_url(GITHUB));
    request.header("accept", "application/json")
}

fn without_credentials(form: Params) -> Params {
    form.without("client_id").without("client_secret")
}

// Inferred: the default of Auth.js, arctic, Authlib, requests-oauthlib and simple-oauth2.
#[tokio::test]
async fn a_client_can_authenticate_with_basic() {
    let mock = TestMock::new().await;
    let form = without_credentials(redemption(&mock.code(GITHUB).await));
    let request = token_call(&mock).basic_auth(CLIENT_ID, Some(CLIENT_SECRET));
    let answer = Response::of(request.form(&form.0)).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

#[tokio::test]
async fn a_wrong_secret_in_basic_is_refused_and_keeps_the_code() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await);
    let request = token_call(&mock).basic_auth(CLIENT_ID, Some("guess"));
    let response = Response::of(request.form(&without_credentials(form.clone()).0)).await;
    let description = "The client_id and/or client_secret passed are incorrect.";
    response.assert_error(200, "incorrect_client_credentials", description);
    let answer = mock.token(GITHUB, &form).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

// @octokit/oauth-methods, GitHub's own client, sends nothing else.
#[tokio::test]
async fn the_token_call_can_be_json() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await);
    let answer = Response::of(token_call(&mock).json(&object(&form))).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

fn object(form: &Params) -> Value {
    let members = form.0.iter();
    members
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect()
}

#[tokio::test]
async fn a_json_body_is_checked_like_a_form() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GITHUB).await).with("code_verifier", &"x".repeat(43));
    let response = Response::of(token_call(&mock).json(&object(&form))).await;
    response.assert_error(200, "bad_verification_code", BAD_CODE);
}

#[tokio::test]
async fn a_json_body_that_is_not_an_object_of_strings_is_ignored() {
    let mock = TestMock::new().await;
    let description = "The client_id and/or client_secret passed are incorrect.";
    for body in [json!([]), json!({ "client_id": [CLIENT_ID] }), Value::Null] {
        let response = Response::of(token_call(&mock).json(&body)).await;
        response.assert_error(200, "incorrect_client_credentials", description);
    }
}
