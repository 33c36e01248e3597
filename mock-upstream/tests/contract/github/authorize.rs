//! GitHub's authorization endpoint.

use mock_upstream::{Iss, Misbehaviour, Next};

use reqwest::Method;
use serde_json::{Value, json};

use super::GITHUB;
use crate::test_mock::{
    CALLBACK, Params, Response, SECOND_CALLBACK, STATE, TestMock, authorization, redemption,
    seed_account,
};

fn request() -> Params {
    authorization(GITHUB)
}

// "Authorizing OAuth apps"; iss since the rollout of 2026.
#[tokio::test]
async fn a_success_carries_code_state_and_iss() {
    let mock = TestMock::new().await;
    let response = mock.authorize(GITHUB, &request()).await;
    let callback = response.callback();
    let issuer = format!("{}/login/oauth", mock.upstreams.github().url());
    assert_eq!(response.status, 302);
    assert_eq!(callback.names(), ["code", "state", "iss"]);
    assert_eq!(callback.get("state"), Some(STATE));
    assert_eq!(callback.get("iss"), Some(issuer.as_str()));
}

// gerrit-oauth-provider#71: `9de63243bfe864d7490c`.
#[tokio::test]
async fn a_code_is_twenty_lower_case_hexadecimal_digits() {
    let mock = TestMock::new().await;
    let code = mock.code(GITHUB).await;
    let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    assert_eq!(code.len(), 20);
    assert!(code.bytes().all(is_lower_hex));
}

// The real URL, from before the rollout of iss: kossiitkgp/KWoC-Frontend#95.
#[tokio::test]
async fn a_denial_equals_the_real_one_byte_for_byte() {
    let mock = TestMock::new().await;
    mock.upstreams.github().set_iss(Iss::On);
    mock.queue(GITHUB, Next::Misbehave(Misbehaviour::Deny));
    let response = mock
        .authorize(GITHUB, &request().with("state", "mentor"))
        .await;
    let real = "?error=access_denied\
                &error_description=The+user+has+denied+your+application+access.\
                &error_uri=https%3A%2F%2Fdocs.github.com%2Fapps%2Fmanaging-oauth-apps%2Ftroubleshooting-authorization-request-errors%2F%23access-denied\
                &state=mentor";
    assert_eq!(response.header("location"), format!("{CALLBACK}{real}"));
}

// "Troubleshooting authorization request errors": sent to the registered callback.
#[tokio::test]
async fn the_error_for_an_unregistered_redirect_uri_goes_to_the_registered_one() {
    let mock = TestMock::new().await;
    for uri in [
        "https://attacker.example/",
        "http://127.0.0.1:8000/callback/",
    ] {
        let response = mock
            .authorize(GITHUB, &request().with("redirect_uri", uri))
            .await;
        let callback = response.callback();
        let description =
            "The redirect_uri MUST match the registered callback URL for this application.";
        let order = ["error", "error_description", "error_uri", "state", "iss"];
        assert!(
            response
                .header("location")
                .starts_with(&format!("{CALLBACK}?error="))
        );
        assert_eq!(callback.names(), order);
        assert_eq!(callback.get("error"), Some("redirect_uri_mismatch"));
        assert_eq!(callback.get("error_description"), Some(description));
        assert_eq!(callback.get("state"), Some(STATE));
    }
}

// "Authorizing OAuth apps": if left out, the first registered callback is used.
#[tokio::test]
async fn without_a_redirect_uri_the_first_registered_one_is_used() {
    let mock = TestMock::new().await;
    let response = mock
        .authorize(GITHUB, &request().without("redirect_uri"))
        .await;
    assert!(
        response
            .header("location")
            .starts_with(&format!("{CALLBACK}?code="))
    );
}

#[tokio::test]
async fn any_registered_redirect_uri_works() {
    let mock = TestMock::new().await;
    let params = request().with("redirect_uri", SECOND_CALLBACK);
    let response = mock.authorize(GITHUB, &params).await;
    let start = format!("{SECOND_CALLBACK}&code=");
    assert!(response.header("location").starts_with(&start));
}

// Not confirmed.
#[tokio::test]
async fn an_unknown_client_gets_a_404_page() {
    let mock = TestMock::new().await;
    let response = mock
        .authorize(GITHUB, &request().with("client_id", "unknown"))
        .await;
    response.assert_page(404, "404");
}

// "Authorizing OAuth apps": S256, 43 characters; `plain` is not supported.
#[tokio::test]
async fn a_challenge_that_is_not_s256_is_refused() {
    let mock = TestMock::new().await;
    let unusable = [
        request().with("code_challenge_method", "plain"),
        request().without("code_challenge_method"),
        request().without("code_challenge"),
        request().with("code_challenge", "too-short"),
        request().with("code_challenge", &"+".repeat(43)),
    ];
    for params in unusable {
        let callback = mock.authorize(GITHUB, &params).await.callback();
        assert_eq!(callback.get("error"), Some("invalid_request"));
        assert_eq!(callback.get("code"), None);
    }
}

// "Authorizing OAuth apps": optional parameters.
#[tokio::test]
async fn hints_are_accepted() {
    let mock = TestMock::new().await;
    let params = request()
        .with("login", "ada-mock")
        .with("allow_signup", "false")
        .with("prompt", "select_account");
    let response = mock.authorize(GITHUB, &params).await;
    assert_eq!(response.callback().names(), ["code", "state", "iss"]);
}

// The same page: no preflight.
#[tokio::test]
async fn a_preflight_is_refused() {
    let mock = TestMock::new().await;
    let url = format!("{}/login/oauth/authorize", mock.upstreams.github().url());
    let request = mock.request(Method::OPTIONS, &url);
    let response = Response::of(request.header("origin", "https://app.example")).await;
    assert_eq!(response.status, 405);
    assert_eq!(response.header("access-control-allow-origin"), "");
}

// Probed on 2026-09-19 (github-copilot-github-oauth-authorization-server.json).
#[tokio::test]
async fn the_metadata_lists_the_endpoints_and_s256_alone() {
    let mock = TestMock::new().await;
    let url = mock.upstreams.github().url();
    let document = metadata(&mock).await;
    assert_eq!(document["issuer"], format!("{url}/login/oauth"));
    assert_eq!(
        document["authorization_endpoint"],
        format!("{url}/login/oauth/authorize")
    );
    assert_eq!(document["token_endpoint"], mock.token_url(GITHUB));
    assert_eq!(document["response_types_supported"], json!(["code"]));
    assert_eq!(
        document["code_challenge_methods_supported"],
        json!(["S256"])
    );
    assert_eq!(document["scopes_supported"], json!(["offline_access"]));
    let grant_types = json!([
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ]);
    assert_eq!(document["grant_types_supported"], grant_types);
}

async fn metadata(mock: &TestMock) -> Value {
    let url = mock.upstreams.github().url();
    let path = "/.well-known/oauth-authorization-server/login/oauth";
    mock.get(&format!("{url}{path}")).await.json()
}

const ISS_ANNOUNCED: &str = "authorization_response_iss_parameter_supported";

// RFC 9207, section 2.3: true is a promise for every callback, errors included. The real
// document says true; whether GitHub's errors keep that promise is not confirmed.
#[tokio::test]
async fn the_metadata_announces_iss_and_every_callback_carries_it() {
    let mock = TestMock::new().await;
    assert_eq!(metadata(&mock).await[ISS_ANNOUNCED], true);
    for next in [
        Next::User(seed_account(GITHUB, "ada")),
        Next::Misbehave(Misbehaviour::Deny),
    ] {
        mock.queue(GITHUB, next);
        let callback = mock.authorize(GITHUB, &request()).await.callback();
        assert!(callback.get("iss").is_some());
    }
}

#[tokio::test]
async fn the_metadata_says_nothing_about_iss_while_some_callbacks_may_lack_it() {
    let mock = TestMock::new().await;
    for iss in [Iss::Off, Iss::On] {
        mock.upstreams.github().set_iss(iss);
        assert_eq!(metadata(&mock).await.get(ISS_ANNOUNCED), None, "{iss:?}");
    }
}

// Inferred: Octokit sends commas, every other client spaces.
#[tokio::test]
async fn scopes_can_be_separated_by_commas_and_spaces() {
    let mock = TestMock::new().await;
    for scope in [
        "read:user,user:email",
        "read:user, user:email",
        "user:email read:user",
    ] {
        let code = mock.code_for(GITHUB, &request().with("scope", scope)).await;
        let answer = mock.token(GITHUB, &redemption(&code)).await;
        assert_eq!(answer.text("scope"), "read:user,user:email", "{scope}");
    }
}
