//! GitHub's token endpoint.

use mock_upstream::Provider;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::world::{CLIENT_ID, CLIENT_SECRET, Params, SECOND_CALLBACK, Seen, World, redemption};

const GITHUB: Provider = Provider::GitHub;

const ERROR_URI: &str = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#";

async fn check_refused(change: impl FnOnce(Params) -> Params, error: &str, description: &str) {
    let world = World::new().await;
    let form = change(redemption(&world.code(GITHUB).await));
    let seen = world.token(GITHUB, &form).await;
    seen.assert_error(200, error, description);
    let anchor = error.replace('_', "-");
    assert_eq!(seen.text("error_uri"), format!("{ERROR_URI}{anchor}"));
}

// "Authorizing OAuth apps": commas, `bearer` in lower case.
#[tokio::test]
async fn a_token_answer_has_githubs_fields_alone() {
    let world = World::new().await;
    let answer = world.sign_in(GITHUB).await;
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
async fn a_token_is_gho_and_36_letters_or_digits() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let random = token.strip_prefix("gho_").unwrap();
    assert_eq!(random.len(), 36);
    assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
}

// "Authorizing OAuth apps": a form, unless Accept asks for JSON.
#[tokio::test]
async fn the_answer_is_a_form_unless_json_is_asked_for() {
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await);
    let seen = world.post(&world.token_url(GITHUB), &form).await;
    let content_type = "application/x-www-form-urlencoded; charset=utf-8";
    assert_eq!(seen.header("content-type"), content_type);
    assert!(seen.body.starts_with("access_token=gho_"));
    assert!(
        seen.body
            .ends_with("&scope=read%3Auser%2Cuser%3Aemail&token_type=bearer")
    );
}

// gerrit-oauth-provider#71.
#[tokio::test]
async fn an_error_is_a_form_too() {
    let world = World::new().await;
    let seen = world
        .post(&world.token_url(GITHUB), &redemption("none"))
        .await;
    let pairs: Vec<_> = form_urlencoded::parse(seen.body.as_bytes()).collect();
    assert_eq!(seen.status, 200);
    assert_eq!(pairs[0], ("error".into(), "bad_verification_code".into()));
    assert_eq!(pairs[2].0, "error_uri");
}

// octokit/auth-oauth-app.js#13.
#[tokio::test]
async fn the_headers_are_those_of_github() {
    let world = World::new().await;
    let seen = world.token(GITHUB, &redemption("none")).await;
    let caching = "max-age=0, private, must-revalidate";
    assert_eq!(
        seen.header("content-type"),
        "application/json; charset=utf-8"
    );
    assert_eq!(seen.header("cache-control"), caching);
}

const BAD_CODE: &str = "The code passed is incorrect or expired.";

// "Troubleshooting OAuth app access token request errors", as all that follow.
#[tokio::test]
async fn an_unknown_code_is_refused_with_status_200() {
    let change = |form: Params| form.with("code", "0123456789abcdef0123");
    check_refused(change, "bad_verification_code", BAD_CODE).await;
}

#[tokio::test]
async fn a_code_is_spent_by_its_first_use() {
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await);
    assert_eq!(
        world.token(GITHUB, &form).await.text("token_type"),
        "bearer"
    );
    let again = world.token(GITHUB, &form).await;
    again.assert_error(200, "bad_verification_code", BAD_CODE);
}

// "Authorizing OAuth apps": ten minutes.
#[tokio::test]
async fn a_code_ends_after_ten_minutes() {
    let world = World::new().await;
    let in_time = redemption(&world.code(GITHUB).await);
    let too_late = redemption(&world.code(GITHUB).await);
    world.advance_ms(599_999);
    assert_eq!(
        world.token(GITHUB, &in_time).await.text("token_type"),
        "bearer"
    );
    world.advance_ms(1);
    let seen = world.token(GITHUB, &too_late).await;
    seen.assert_error(200, "bad_verification_code", BAD_CODE);
}

#[tokio::test]
async fn a_wrong_client_is_refused_and_leaves_the_code() {
    let description = "The client_id and/or client_secret passed are incorrect.";
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await);
    for (name, value) in [("client_id", "nobody"), ("client_secret", "guess")] {
        let seen = world.token(GITHUB, &form.clone().with(name, value)).await;
        seen.assert_error(200, "incorrect_client_credentials", description);
    }
    assert_eq!(
        world.token(GITHUB, &form).await.text("token_type"),
        "bearer"
    );
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
async fn the_redirect_uri_may_be_left_out() {
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await).without("redirect_uri");
    let answer = world.token(GITHUB, &form).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

// fastmcp#1724; the status is not confirmed.
#[tokio::test]
async fn a_missing_verifier_is_refused() {
    let change = |form: Params| form.without("code_verifier");
    let description = "A code_verifier was not included, but the authorization request included a code_challenge. Codes requested with a code_challenge MUST be redeemed with a code_verifier.";
    check_refused(change, "invalid_grant", description).await;
}

// Which error is not confirmed.
#[tokio::test]
async fn a_wrong_verifier_is_refused() {
    let change = |form: Params| form.with("code_verifier", &"x".repeat(43));
    check_refused(change, "bad_verification_code", BAD_CODE).await;
}

#[tokio::test]
async fn a_get_of_the_token_endpoint_is_refused_and_spends_nothing() {
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await);
    let url = format!("{}?{}", world.token_url(GITHUB), form.encoded());
    let request = world.request(Method::GET, &url);
    assert_eq!(Seen::of(request).await.status, 404);
    assert_eq!(
        world.token(GITHUB, &form).await.text("token_type"),
        "bearer"
    );
}

// fastmcp#1724 shows the error and not the status.
#[tokio::test]
async fn the_status_for_a_missing_verifier_can_be_chosen() {
    let world = World::with(|settings| {
        settings.github.unconfirmed.github_missing_verifier_status = 400;
    })
    .await;
    let form = redemption(&world.code(GITHUB).await).without("code_verifier");
    let seen = world.token(GITHUB, &form).await;
    assert_eq!(seen.status, 400);
    assert_eq!(seen.text("error"), "invalid_grant");
}

// Not confirmed.
#[tokio::test]
async fn the_error_for_a_wrong_verifier_can_be_chosen() {
    let world = World::with(|settings| {
        settings.github.unconfirmed.github_wrong_verifier_error = "invalid_grant";
    })
    .await;
    let form = redemption(&world.code(GITHUB).await).with("code_verifier", &"x".repeat(43));
    let seen = world.token(GITHUB, &form).await;
    assert_eq!(seen.text("error"), "invalid_grant");
}

/// A token call without its body, for JSON.
fn token_call(world: &World) -> RequestBuilder {
    let request = world.request(Method::POST, &world.token_url(GITHUB));
    request.header("accept", "application/json")
}

fn without_credentials(form: Params) -> Params {
    form.without("client_id").without("client_secret")
}

// Inferred: the default of Auth.js, arctic, Authlib, requests-oauthlib and simple-oauth2.
#[tokio::test]
async fn a_client_may_authenticate_with_basic() {
    let world = World::new().await;
    let form = without_credentials(redemption(&world.code(GITHUB).await));
    let request = token_call(&world).basic_auth(CLIENT_ID, Some(CLIENT_SECRET));
    let answer = Seen::of(request.form(&form.0)).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

#[tokio::test]
async fn a_wrong_secret_in_basic_is_refused_and_leaves_the_code() {
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await);
    let request = token_call(&world).basic_auth(CLIENT_ID, Some("guess"));
    let seen = Seen::of(request.form(&without_credentials(form.clone()).0)).await;
    let description = "The client_id and/or client_secret passed are incorrect.";
    seen.assert_error(200, "incorrect_client_credentials", description);
    let answer = world.token(GITHUB, &form).await;
    assert_eq!(answer.text("token_type"), "bearer");
}

// @octokit/oauth-methods, GitHub's own client, sends nothing else.
#[tokio::test]
async fn the_token_call_may_be_json() {
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await);
    let answer = Seen::of(token_call(&world).json(&object(&form))).await;
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
    let world = World::new().await;
    let form = redemption(&world.code(GITHUB).await).with("code_verifier", &"x".repeat(43));
    let seen = Seen::of(token_call(&world).json(&object(&form))).await;
    seen.assert_error(200, "bad_verification_code", BAD_CODE);
}

#[tokio::test]
async fn a_json_body_that_is_no_object_of_texts_brings_nothing() {
    let world = World::new().await;
    let description = "The client_id and/or client_secret passed are incorrect.";
    for body in [json!([]), json!({ "client_id": [CLIENT_ID] }), Value::Null] {
        let seen = Seen::of(token_call(&world).json(&body)).await;
        seen.assert_error(200, "incorrect_client_credentials", description);
    }
}
