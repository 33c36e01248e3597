//! The token endpoints: what both have in common, and what one of them alone does.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use url::form_urlencoded;

use crate::test_mock::{
    CLIENT_ID, CLIENT_SECRET, GITHUB, GOOGLE, Params, Response, TestMock, redemption, rows,
    token_path,
};

/// GitHub's answers to a token call with a wrong client and with a bad code.
const WRONG_CLIENT: &str =
    "200 incorrect_client_credentials: The client_id and/or client_secret passed are incorrect.";
const BAD_CODE: &str = "200 bad_verification_code: The code passed is incorrect or expired.";

// Google: client notes say that a used code is invalid_grant, "Bad Request"; the lifetime is
// not confirmed. GitHub: "Authorizing OAuth apps".
#[tokio::test]
async fn a_code_works_once_and_until_it_expires() {
    let mock = TestMock::new().await;
    for (provider, lifetime_ms, error) in [
        (GOOGLE, 60_000, "400 invalid_grant: Bad Request"),
        (GITHUB, 600_000, BAD_CODE),
    ] {
        let in_time = mock.redemption(provider).await;
        let too_late = mock.redemption(provider).await;
        mock.advance_ms(lifetime_ms - 1);
        assert!(mock.token(provider, &in_time).await.is_granted());
        assert_eq!(mock.token(provider, &in_time).await.error(), error);
        mock.advance_ms(1);
        assert_eq!(mock.token(provider, &too_late).await.error(), error);
    }
}

// Google: discovery lists client_secret_basic. GitHub: inferred, as it is the default of
// Auth.js, arctic, Authlib, requests-oauthlib and simple-oauth2.
#[tokio::test]
async fn a_client_can_authenticate_with_basic_and_a_wrong_secret_in_it_keeps_the_code() {
    let mock = TestMock::new().await;
    for (provider, error) in [
        (GOOGLE, "401 invalid_client: Unauthorized"),
        (GITHUB, WRONG_CLIENT),
    ] {
        let form = mock.redemption(provider).await;
        let form = form.changed("-client_id; -client_secret");
        let call = async |secret| {
            let request = mock.token_call(provider).form(&form.0);
            Response::of(request.basic_auth(CLIENT_ID, Some(secret))).await
        };
        assert_eq!(call("guess").await.error(), error);
        assert!(call(CLIENT_SECRET).await.is_granted());
    }
}

/// The provider, the changes of a good authorization request and of a good token call, the
/// answer, and whether the code still works after it. GitHub's: "Troubleshooting OAuth app access
/// token request errors".
const CALLS: &str = include_str!("tables/token_calls.txt");

#[tokio::test]
async fn a_token_call_gets_tokens_or_the_error_of_its_fault() {
    let mock = TestMock::new().await;
    for [provider, asked, changes, answer, code] in rows(CALLS) {
        let provider = provider.parse().unwrap();
        let callback = mock.callback(provider, asked).await;
        let has_state = callback.get("state").is_some();
        assert_eq!(has_state, !asked.starts_with("-state"), "{asked}");
        let form = redemption(callback.get("code").unwrap());
        let response = mock.token(provider, &form.clone().changed(changes)).await;
        match answer {
            "granted" => assert!(response.is_granted(), "{provider} {changes}"),
            error => assert_eq!(response.error(), error, "{provider} {changes}"),
        }
        if provider == GITHUB && answer != "granted" {
            let anchor = response.text("error").replace('_', "-");
            let page = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/";
            assert_eq!(response.text("error_uri"), format!("{page}#{anchor}"));
        }
        let works = mock.token(provider, &form).await.is_granted();
        assert_eq!(works, code == "kept", "{provider} {changes}");
    }
}

/// A row is a part of a token response: a header, a member or all their names.
const ANSWERS: &str = include_str!("tables/token_answers.txt");

// github.blog, 2021: a token is `^gho_[A-Za-z0-9]{36}$`.
#[tokio::test]
async fn a_token_response_has_the_headers_and_the_members_of_its_provider() {
    let mock = TestMock::new().await;
    let [google, github] = &[mock.sign_in(GOOGLE).await, mock.sign_in(GITHUB).await];
    for [provider, what, expected] in rows(ANSWERS) {
        let answer = if provider == "google" { google } else { github };
        let seen = match what {
            "members" => answer.members(),
            header if header.contains('-') => answer.header(header).to_owned(),
            member => answer.json()[member].to_string().replace('"', ""),
        };
        assert_eq!((seen.as_str(), answer.status), (expected, 200), "{what}");
    }
    assert!(google.text("access_token").starts_with("ya29."));
    let token = github.text("access_token");
    let random = token.strip_prefix("gho_").unwrap();
    assert_eq!(random.len(), 36);
    assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
}

#[tokio::test]
async fn of_sixteen_concurrent_redemptions_one_succeeds() {
    let mock = TestMock::new().await;
    let form = mock.redemption(GOOGLE).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        racers.spawn(Response::of(mock.token_call(GOOGLE).form(&form.0)));
    }
    let responses = racers.join_all().await;
    let successes = responses.iter().filter(|it| it.status == 200);
    assert_eq!(successes.count(), 1);
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
    let token = mock.access_token(GOOGLE).await;
    let form = Params::of(&[("token", &token)]);
    assert_eq!(mock.post(GOOGLE, "/revoke", &form).await.status, 200);
    let userinfo = mock.get_with(&token, GOOGLE, "/v1/userinfo").await;
    assert_eq!(userinfo.status, 401);
    assert_eq!(mock.post(GOOGLE, "/revoke", &form).await.status, 400);
}

/// The refresh token of a sign-in with this prompt.
async fn refresh_token(mock: &TestMock, access: &str, prompt: &str) -> Option<String> {
    let changes = format!("access_type={access}; prompt={prompt}");
    let body = mock.sign_in_with(GOOGLE, &changes).await.json();
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

// "Authorizing OAuth apps": a form, unless Accept asks for JSON. Errors:
// gerrit-oauth-provider#71.
#[tokio::test]
async fn the_response_is_a_form_unless_json_is_accepted() {
    let mock = TestMock::new().await;
    for (code, expected) in [
        (mock.code(GITHUB).await, "access_token scope token_type"),
        ("none".to_owned(), "error error_description error_uri"),
    ] {
        let form = redemption(&code);
        let response = mock.post(GITHUB, token_path(GITHUB), &form).await;
        let media_type = "application/x-www-form-urlencoded; charset=utf-8";
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), media_type);
        let pairs = form_urlencoded::parse(response.body.as_bytes()).into_owned();
        let pairs = Params(pairs.collect());
        assert_eq!(pairs.names().join(" "), expected);
        let values = (pairs.get("error"), pairs.get("scope"));
        match code.as_str() {
            "none" => assert_eq!(values, (Some("bad_verification_code"), None)),
            _ => assert_eq!(values, (None, Some("read:user,user:email"))),
        }
    }
}

// @octokit/oauth-methods, GitHub's own client, sends JSON alone.
#[tokio::test]
async fn the_token_call_can_be_an_object_of_strings_which_is_checked_like_a_form() {
    let mock = TestMock::new().await;
    let ask = async |body: Value| Response::of(mock.token_call(GITHUB).json(&body)).await;
    let object = |form: Params| json!(BTreeMap::from_iter(form.0));
    let form = mock.redemption(GITHUB).await;
    assert!(ask(object(form)).await.is_granted());
    let form = mock.redemption(GITHUB).await.with("code_verifier", "wrong");
    assert_eq!(ask(object(form)).await.error(), BAD_CODE);
    for other in [json!([]), json!({ "client_id": [CLIENT_ID] }), Value::Null] {
        assert_eq!(ask(other).await.error(), WRONG_CLIENT);
    }
}
