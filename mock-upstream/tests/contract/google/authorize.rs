//! Google's authorization endpoint.

use mock_upstream::Mode;

use crate::test_mock::{CALLBACK, GOOGLE, TestMock, authorization, rows, seed_account};

const ORDER: [&str; 6] = ["state", "iss", "code", "scope", "authuser", "prompt"];

// Parameters, their order and a code like `4%2F0A…`: seen in server logs of several projects,
// 2026. The values are in the table of the misbehaviours: `wrong_callback_issuer`.
#[tokio::test]
async fn a_success_has_googles_parameters_in_googles_order() {
    let mock = TestMock::new().await;
    let response = mock.authorize(GOOGLE, &authorization(GOOGLE)).await;
    let (callback, location) = (response.callback(), response.header("location"));
    assert_eq!(response.status, 302);
    assert!(location.starts_with(&format!("{CALLBACK}?state=")));
    assert!(location.contains("code=4%2F0A"));
    assert_eq!(callback.get("code").unwrap().len(), 74);
    assert_eq!(callback.names(), ORDER);
    assert_eq!(callback.get("iss"), Some(mock.upstreams.google().url()));
}

/// The changes of a good request, and the error on the page in place of a redirect:
/// support.google.com/accounts/answer/16668185.
const REFUSED: &str = "
    client_id=unknown | invalid_client
    // `scheme, case, and trailing slash must all match`.
    redirect_uri=http://127.0.0.1:8000/callback/ | redirect_uri_mismatch
    redirect_uri=http://127.0.0.1:8000/Callback | redirect_uri_mismatch
    redirect_uri=http://127.0.0.1:8000/callback?x=1 | redirect_uri_mismatch
    redirect_uri=https://127.0.0.1:8000/callback | redirect_uri_mismatch
    redirect_uri=http://127.0.0.1:8001/callback | redirect_uri_mismatch
    redirect_uri=http://localhost:8000/callback | redirect_uri_mismatch
    -client_id | invalid_request
    client_id= | invalid_request
    -redirect_uri | invalid_request
    redirect_uri= | invalid_request
    -response_type | invalid_request
    response_type= | invalid_request
    -scope | invalid_request
    scope= | invalid_request
    // RFC 6749, section 3.1: no parameter more than once.
    +state=another | invalid_request
    scope=openid emails | invalid_scope
    response_type=token | unsupported_response_type
    // Stricter than Google, which accepts `plain`.
    code_challenge=too-short | invalid_request
    code_challenge=+++++++++++++++++++++++++++++++++++++++++++ | invalid_request
    code_challenge_method=plain | invalid_request
    -code_challenge_method | invalid_request
    -code_challenge | invalid_request
    // `OAuth 2.0 for Web Server Applications`: case-sensitive, and `none` alone.
    prompt=login | invalid_request
    prompt=Consent | invalid_request
    prompt=none consent | invalid_request
    access_type=always | invalid_request
";

#[tokio::test]
async fn a_request_with_a_fault_gets_a_page_and_no_redirect() {
    let mock = TestMock::new().await;
    for [changes, error] in rows(REFUSED) {
        let params = authorization(GOOGLE).changed(changes);
        let response = mock.authorize(GOOGLE, &params).await;
        let error = format!("Error 400: {error}");
        assert!(response.is_page(400, &error), "{changes}");
    }
}

/// The changes of a good request, and a part of the callback with a code.
const ACCEPTED: &str = "
    redirect_uri=http://127.0.0.1:8000/second?tenant=1 | second?tenant=1&state=
    // `OAuth 2.0 for Web Server Applications`: the values of prompt, and other hints.
    prompt=select_account | &prompt=none
    prompt=consent | &prompt=consent
    prompt=select_account consent | &prompt=consent
    prompt=none | &prompt=none
    login_hint=ada@people.example; hd=*; include_granted_scopes=true | &code=
    access_type=online | &code=
";

#[tokio::test]
async fn any_registered_redirect_uri_and_every_hint_is_accepted() {
    let mock = TestMock::new().await;
    for [changes, part] in rows(ACCEPTED) {
        let params = authorization(GOOGLE).changed(changes);
        let response = mock.authorize(GOOGLE, &params).await;
        let names = response.callback();
        assert!(names.names().ends_with(&ORDER), "{changes}");
        assert!(response.header("location").contains(part), "{changes}");
    }
}

// Seen in server logs: `hd` for Workspace, `authuser` with the index of the account.
#[tokio::test]
async fn a_workspace_account_adds_hd_before_the_prompt() {
    let mock = TestMock::new().await;
    let katherine = seed_account(GOOGLE, "katherine");
    mock.queue(GOOGLE, mock_upstream::Next::User(katherine));
    let response = mock.authorize(GOOGLE, &authorization(GOOGLE)).await;
    let end = "&authuser=1&hd=people.example&prompt=none";
    assert!(response.header("location").ends_with(end));
}

// OpenID Connect requires a callback; which of the two errors is not confirmed.
#[tokio::test]
async fn prompt_none_without_a_signed_in_user_is_an_error() {
    for error in ["interaction_required", "login_required"] {
        let mock = TestMock::with(|settings| {
            settings.google.mode = Mode::Interactive;
            settings.google.unconfirmed.google_prompt_none_error = error;
        });
        let params = authorization(GOOGLE).with("prompt", "none");
        let callback = mock.await.authorize(GOOGLE, &params).await.callback();
        assert_eq!(callback.names(), ["error", "state"]);
        assert_eq!(callback.get("error"), Some(error));
    }
}

// The `auth_uri` in the client files that Google's console hands out.
#[tokio::test]
async fn the_older_address_behaves_alike() {
    let mock = TestMock::new().await;
    let older = async |changes| {
        let params = authorization(GOOGLE).changed(changes).encoded();
        mock.get(GOOGLE, &format!("/o/oauth2/auth?{params}")).await
    };
    assert_eq!(older("").await.callback().names(), ORDER);
    let refused = older("client_id=unknown").await;
    refused.assert_page(400, "Error 400: invalid_client");
}
