//! Google's authorization endpoint.

use mock_upstream::{Misbehaviour, Mode, Next};

use super::GOOGLE;
use crate::test_mock::{
    CALLBACK, Params, SECOND_CALLBACK, STATE, TestMock, authorization, seed_account,
};

fn request() -> Params {
    authorization(GOOGLE)
}

async fn check_refused(params: &Params, error: &str) {
    let mock = TestMock::new().await;
    let response = mock.authorize(GOOGLE, params).await;
    response.assert_page(400, &format!("Error 400: {error}"));
    response.assert_page(400, "MOCK");
}

// Seen in server logs of several projects, 2026.
#[tokio::test]
async fn a_success_has_googles_parameters_in_googles_order() {
    let mock = TestMock::new().await;
    let response = mock.authorize(GOOGLE, &request()).await;
    let callback = response.callback();
    let order = ["state", "iss", "code", "scope", "authuser", "prompt"];
    assert_eq!(response.status, 302);
    assert!(
        response
            .header("location")
            .starts_with(&format!("{CALLBACK}?state="))
    );
    assert_eq!(callback.names(), order);
    assert_eq!(callback.get("iss"), Some(mock.upstreams.google().url()));
    assert_eq!(callback.get("prompt"), Some("none"));
    assert_eq!(callback.get("authuser"), Some("0"));
}

// Seen in the same logs: the short scopes come back with their long forms.
#[tokio::test]
async fn the_scope_comes_back_expanded() {
    let mock = TestMock::new().await;
    let callback = mock.authorize(GOOGLE, &request()).await.callback();
    let scope = "email profile https://www.googleapis.com/auth/userinfo.profile \
                 https://www.googleapis.com/auth/userinfo.email openid";
    assert_eq!(callback.get("scope"), Some(scope));
}

// "OAuth 2.0 for Web Server Applications": state is returned exactly as it was sent.
#[tokio::test]
async fn the_state_comes_back_as_it_was_sent() {
    let mock = TestMock::new().await;
    let callback = mock.authorize(GOOGLE, &request()).await.callback();
    assert_eq!(callback.get("state"), Some(STATE));
}

// Seen in logs: `code=4%2F0A…`, about 70 characters more.
#[tokio::test]
async fn a_code_contains_a_slash() {
    let mock = TestMock::new().await;
    let response = mock.authorize(GOOGLE, &request()).await;
    let code = response.callback().get("code").unwrap().to_owned();
    assert!(code.starts_with("4/0A"));
    assert_eq!(code.len(), 74);
    assert!(response.header("location").contains("code=4%2F0A"));
}

// "OAuth 2.0 for Web Server Applications": error=access_denied.
#[tokio::test]
async fn a_cancelled_sign_in_carries_the_error_and_the_state_alone() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::Misbehave(Misbehaviour::Deny));
    let callback = mock.authorize(GOOGLE, &request()).await.callback();
    assert_eq!(callback.names(), ["error", "state"]);
    assert_eq!(callback.get("error"), Some("access_denied"));
    assert_eq!(callback.get("state"), Some(STATE));
}

// The following are pages, not redirects: support.google.com/accounts/answer/16668185.

#[tokio::test]
async fn an_unknown_client_gets_a_page() {
    check_refused(&request().with("client_id", "unknown"), "invalid_client").await;
}

// "scheme, case, and trailing slash must all match".
#[tokio::test]
async fn a_redirect_uri_that_differs_in_a_byte_gets_a_page() {
    let unregistered = [
        "http://127.0.0.1:8000/callback/",
        "http://127.0.0.1:8000/Callback",
        "http://127.0.0.1:8000/callback?x=1",
        "https://127.0.0.1:8000/callback",
        "http://127.0.0.1:8001/callback",
        "http://localhost:8000/callback",
    ];
    for uri in unregistered {
        check_refused(
            &request().with("redirect_uri", uri),
            "redirect_uri_mismatch",
        )
        .await;
    }
}

#[tokio::test]
async fn any_registered_redirect_uri_works_and_keeps_its_query() {
    let mock = TestMock::new().await;
    let params = request().with("redirect_uri", SECOND_CALLBACK);
    let response = mock.authorize(GOOGLE, &params).await;
    let start = "http://127.0.0.1:8000/second?tenant=1&state=";
    assert!(response.header("location").starts_with(start));
}

#[tokio::test]
async fn a_missing_parameter_gets_a_page() {
    for name in ["client_id", "redirect_uri", "response_type", "scope"] {
        check_refused(&request().without(name), "invalid_request").await;
        check_refused(&request().with(name, ""), "invalid_request").await;
    }
}

// RFC 6749, section 3.1: no parameter more than once.
#[tokio::test]
async fn a_duplicate_parameter_gets_a_page() {
    check_refused(&request().and("state", "another"), "invalid_request").await;
}

#[tokio::test]
async fn an_unknown_scope_gets_a_page() {
    check_refused(&request().with("scope", "openid emails"), "invalid_scope").await;
}

#[tokio::test]
async fn another_response_type_gets_a_page() {
    let params = request().with("response_type", "token");
    check_refused(&params, "unsupported_response_type").await;
}

// Stricter than Google, which accepts `plain`.
#[tokio::test]
async fn a_challenge_that_is_not_s256_gets_a_page() {
    let challenge = request().with("code_challenge", "too-short");
    check_refused(&challenge, "invalid_request").await;
    let unsafe_in_a_url = request().with("code_challenge", &"+".repeat(43));
    check_refused(&unsafe_in_a_url, "invalid_request").await;
    let plain = request().with("code_challenge_method", "plain");
    check_refused(&plain, "invalid_request").await;
    let implied_plain = request().without("code_challenge_method");
    check_refused(&implied_plain, "invalid_request").await;
    let method_alone = request().without("code_challenge");
    check_refused(&method_alone, "invalid_request").await;
}

// Seen in server logs: `hd` for Workspace, `authuser` with the index of the account.
#[tokio::test]
async fn a_workspace_account_adds_hd_before_the_prompt() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(seed_account(GOOGLE, "katherine")));
    let callback = mock.authorize(GOOGLE, &request()).await.callback();
    let order = ["state", "iss", "code", "scope", "authuser", "hd", "prompt"];
    assert_eq!(callback.names(), order);
    assert_eq!(callback.get("hd"), Some("people.example"));
    assert_eq!(callback.get("authuser"), Some("1"));
}

// "OAuth 2.0 for Web Server Applications": the values of prompt.
#[tokio::test]
async fn prompt_is_read_and_the_callback_repeats_its_outcome() {
    check_prompt("select_account", "none").await;
    check_prompt("consent", "consent").await;
    check_prompt("select_account consent", "consent").await;
    check_prompt("none", "none").await;
}

async fn check_prompt(prompt: &str, echo: &str) {
    let mock = TestMock::new().await;
    let response = mock
        .authorize(GOOGLE, &request().with("prompt", prompt))
        .await;
    assert_eq!(response.callback().get("prompt"), Some(echo), "{prompt}");
}

// The same page: case-sensitive, and `none` alone.
#[tokio::test]
async fn an_unknown_prompt_gets_a_page() {
    for prompt in ["login", "Consent", "none consent"] {
        check_refused(&request().with("prompt", prompt), "invalid_request").await;
    }
}

// OpenID Connect requires a callback; which of the two errors is not confirmed.
#[tokio::test]
async fn prompt_none_without_a_signed_in_user_is_an_error() {
    for error in ["interaction_required", "login_required"] {
        let mock = TestMock::with(|settings| {
            settings.google.mode = Mode::Interactive;
            settings.google.unconfirmed.google_prompt_none_error = error;
        })
        .await;
        let response = mock
            .authorize(GOOGLE, &request().with("prompt", "none"))
            .await;
        assert_eq!(response.callback().names(), ["error", "state"]);
        assert_eq!(response.callback().get("error"), Some(error));
    }
}

// The same page: optional parameters.
#[tokio::test]
async fn hints_are_accepted() {
    let mock = TestMock::new().await;
    let params = request()
        .with("login_hint", "ada@people.example")
        .with("hd", "*")
        .with("include_granted_scopes", "true")
        .with("access_type", "online");
    let response = mock.authorize(GOOGLE, &params).await;
    assert!(response.callback().get("code").is_some());
}

#[tokio::test]
async fn access_is_online_or_offline() {
    check_refused(&request().with("access_type", "always"), "invalid_request").await;
}

// The `auth_uri` in the client files that Google's console hands out.
#[tokio::test]
async fn the_older_address_behaves_alike() {
    let mock = TestMock::new().await;
    let address = format!("{}/o/oauth2/auth", mock.upstreams.google().url());
    let response = mock
        .get(&format!("{address}?{}", request().encoded()))
        .await;
    let order = ["state", "iss", "code", "scope", "authuser", "prompt"];
    assert_eq!(response.callback().names(), order);
    let refused = request().with("client_id", "unknown").encoded();
    let response = mock.get(&format!("{address}?{refused}")).await;
    response.assert_page(400, "Error 400: invalid_client");
}
