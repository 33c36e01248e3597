//! GitHub's authorization endpoint.

use mock_upstream::Iss;
use serde_json::{Value, json};

use crate::test_mock::{
    GITHUB, Response, STATE, TestMock, authorization, authorization_path, rows, token_path,
};

// "Authorizing OAuth apps"; iss since the rollout of 2026. gerrit-oauth-provider#71: a code
// like `9de63243bfe864d7490c`.
#[tokio::test]
async fn a_success_carries_code_state_and_iss() {
    let mock = TestMock::new().await;
    let response = mock.authorize(GITHUB, &authorization(GITHUB)).await;
    let callback = response.callback();
    let issuer = mock.url(GITHUB, "/login/oauth");
    assert_eq!(response.status, 302);
    assert_eq!(callback.names(), ["code", "state", "iss"]);
    assert_eq!(callback.get("state"), Some(STATE));
    assert_eq!(callback.get("iss"), Some(issuer.as_str()));
    let code = callback.get("code").unwrap();
    let is_lower_hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    assert!(code.len() == 20 && code.bytes().all(is_lower_hex), "{code}");
}

/// The changes of a good request, and the start of the callback.
const CALLBACKS: &str = "
    // `Authorizing OAuth apps`: if left out, the first registered callback is used; other
    // hints are optional.
    -redirect_uri | http://127.0.0.1:8000/callback?code=
    redirect_uri=http://127.0.0.1:8000/second?tenant=1 | http://127.0.0.1:8000/second?tenant=1&code=
    login=ada-mock; allow_signup=false; prompt=select_account | http://127.0.0.1:8000/callback?code=
    // `Troubleshooting authorization request errors`: sent to the registered callback.
    redirect_uri=https://attacker.example/ | http://127.0.0.1:8000/callback?error=redirect_uri_mismatch&error_description=The+redirect_uri+MUST+match+the+registered+callback+URL+for+this+application.&error_uri=https%3A%2F%2Fdocs.github.com%2Fapps%2Fmanaging-oauth-apps%2Ftroubleshooting-authorization-request-errors%2F%23redirect-uri-mismatch&state=
    redirect_uri=http://127.0.0.1:8000/callback/ | http://127.0.0.1:8000/callback?error=redirect_uri_mismatch
    // `Authorizing OAuth apps`: S256, 43 characters; `plain` is not supported.
    code_challenge_method=plain | http://127.0.0.1:8000/callback?error=invalid_request
    -code_challenge_method | http://127.0.0.1:8000/callback?error=invalid_request
    -code_challenge | http://127.0.0.1:8000/callback?error=invalid_request
    code_challenge=too-short | http://127.0.0.1:8000/callback?error=invalid_request
    code_challenge=+++++++++++++++++++++++++++++++++++++++++++ | http://127.0.0.1:8000/callback?error=invalid_request
";

#[tokio::test]
async fn a_request_leads_to_a_registered_callback_with_a_code_or_an_error() {
    let mock = TestMock::new().await;
    for [changes, start] in rows(CALLBACKS) {
        let params = authorization(GITHUB).changed(changes);
        let response = mock.authorize(GITHUB, &params).await;
        let location = response.header("location");
        assert!(location.starts_with(start), "{changes}: {location}");
        let callback = response.callback();
        if callback.get("error").is_some() {
            let order = ["error", "error_description", "error_uri", "state", "iss"];
            assert_eq!(callback.names(), order, "{changes}");
        }
        assert_eq!(callback.get("state"), Some(STATE), "{changes}");
    }
}

// The page is not confirmed. "Authorizing OAuth apps": no preflight.
#[tokio::test]
async fn an_unknown_client_and_a_preflight_get_pages() {
    let mock = TestMock::new().await;
    let params = authorization(GITHUB).with("client_id", "unknown");
    let response = mock.authorize(GITHUB, &params).await;
    response.assert_page(404, "404");
    let request = mock.request(GITHUB, "OPTIONS", authorization_path(GITHUB));
    let response = Response::of(request.header("origin", "https://app.example")).await;
    response.assert_page(405, "405");
    assert_eq!(response.header("access-control-allow-origin"), "");
}

async fn metadata(mock: &TestMock) -> Value {
    let path = "/.well-known/oauth-authorization-server/login/oauth";
    mock.get(GITHUB, path).await.json()
}

const ISS_ANNOUNCED: &str = "authorization_response_iss_parameter_supported";

// Probed on 2026-09-19 (github-copilot-github-oauth-authorization-server.json). RFC 9207,
// section 2.3: true is a promise for every callback, errors included. Whether GitHub's errors
// keep that promise is not confirmed.
#[tokio::test]
async fn the_metadata_lists_the_endpoints_and_s256_alone_and_announces_iss() {
    let mock = TestMock::new().await;
    let url = |path| mock.url(GITHUB, path);
    let expected = json!({
        "issuer": url("/login/oauth"),
        "authorization_endpoint": url(authorization_path(GITHUB)),
        "token_endpoint": url(token_path(GITHUB)),
        "device_authorization_endpoint": url("/login/device/code"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["offline_access"],
        "grant_types_supported": [
            "authorization_code", "refresh_token",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        ISS_ANNOUNCED: true,
    });
    assert_eq!(metadata(&mock).await, expected);
    // Some callbacks may lack it.
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
        let params = authorization(GITHUB).with("scope", scope);
        let answer = mock.sign_in_with(GITHUB, &params).await;
        assert_eq!(answer.text("scope"), "read:user,user:email", "{scope}");
    }
}
