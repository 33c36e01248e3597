//! The behaviour that both providers have in common.

use mock_upstream::{Iss, Misbehaviour, Next, Provider};

use crate::test_mock::{
    CLIENT_ID, CLIENT_SECRET, GITHUB, GOOGLE, Response, TestMock, authorization, redemption, rows,
};

/// GitHub's answers to a token call with a wrong client and with a bad code.
pub(crate) const WRONG_CLIENT: &str = "200 incorrect_client_credentials: \
                                       The client_id and/or client_secret passed are incorrect.";
pub(crate) const BAD_CODE: &str =
    "200 bad_verification_code: The code passed is incorrect or expired.";

// RFC 9207: Google's phased rollout since February 2026; GitHub sent it in April 2026,
// rolled it back, and sends it again since August.
#[tokio::test]
async fn the_setting_decides_which_callbacks_carry_iss() {
    let mock = TestMock::new().await;
    for (iss, on_success, on_error) in [
        (Iss::Off, false, false),
        (Iss::On, true, false),
        (Iss::Errors, true, true),
    ] {
        for provider in Provider::ALL {
            mock.upstream(provider).set_iss(iss);
            let callback = async || {
                let response = mock.authorize(provider, &authorization(provider)).await;
                response.callback().get("iss").map(str::to_owned)
            };
            assert_eq!(callback().await.is_some(), on_success, "{iss:?}");
            mock.queue(provider, Next::Misbehave(Misbehaviour::Deny));
            assert_eq!(callback().await.is_some(), on_error, "{iss:?}");
            mock.queue(provider, Next::Misbehave(Misbehaviour::WrongCallbackIssuer));
            assert_eq!(callback().await.unwrap(), "https://issuer.example");
        }
    }
}

// GitHub's changelog of 2025-07-14: PKCE is recommended, not required.
#[tokio::test]
async fn state_and_pkce_are_optional() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        let params = authorization(provider);
        let params = params.changed("-state; -code_challenge; -code_challenge_method");
        let callback = mock.authorize(provider, &params).await.callback();
        assert_eq!(callback.get("state"), None);
        let form = redemption(callback.get("code").unwrap()).changed("-code_verifier");
        assert!(mock.token(provider, &form).await.is_granted());
    }
}

const OLDER: &str = "Code was already redeemed.";

// Google: client notes say that a used code is invalid_grant, "Bad Request"; the lifetime is
// not confirmed, and older texts have another description. GitHub: "Authorizing OAuth apps".
#[tokio::test]
async fn a_code_works_once_and_until_it_expires() {
    let mock = TestMock::new().await;
    check_code(&mock, GOOGLE, 60_000, "400 invalid_grant: Bad Request").await;
    check_code(&mock, GITHUB, 600_000, BAD_CODE).await;
    let mock = TestMock::with(|settings| {
        settings.google.unconfirmed.google_used_code = OLDER;
        settings.google.unconfirmed.google_code_lifetime_seconds = 90;
    });
    let older = format!("400 invalid_grant: {OLDER}");
    check_code(&mock.await, GOOGLE, 90_000, &older).await;
}

async fn check_code(mock: &TestMock, provider: Provider, lifetime_ms: i64, error: &str) {
    let in_time = redemption(&mock.code(provider).await);
    let too_late = redemption(&mock.code(provider).await);
    mock.advance_ms(lifetime_ms - 1);
    assert!(mock.token(provider, &in_time).await.is_granted());
    assert_eq!(mock.token(provider, &in_time).await.error(), error);
    mock.advance_ms(1);
    assert_eq!(mock.token(provider, &too_late).await.error(), error);
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
        let form = redemption(&mock.code(provider).await);
        let form = form.changed("-client_id; -client_secret");
        let call = async |secret| {
            let request = mock.token_call(provider).form(&form.0);
            Response::of(request.basic_auth(CLIENT_ID, Some(secret))).await
        };
        assert_eq!(call("guess").await.error(), error);
        assert!(call(CLIENT_SECRET).await.is_granted());
    }
}

/// The provider, the changes of a good token call, the error, and whether the code still works
/// after it. GitHub's: "Troubleshooting OAuth app access token request errors".
const REFUSED: &str = "
    // googleworkspace/go-samples#85.
    google | code=4%2F0Aabc | 400 invalid_grant: Malformed auth code. | kept
    // google-api-php-client#2669.
    google | -code_verifier | 400 invalid_grant: Missing code verifier. | used
    // google-api-java-client#1479.
    google | code_verifier=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | 400 invalid_grant: Invalid code verifier. | used
    google | code_verifier=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | 400 invalid_grant: Invalid code verifier. | used
    // The error was seen; its description is not confirmed.
    google | redirect_uri=http://127.0.0.1:8000/second?tenant=1 | 400 redirect_uri_mismatch: Bad Request | used
    // Client tests of several projects, and a client's table of errors.
    google | client_id=unknown | 401 invalid_client: The OAuth client was not found. | kept
    google | client_secret=guess | 401 invalid_client: Unauthorized | kept
    google | grant_type=password | 400 unsupported_grant_type: Invalid grant_type | kept
    github | code=0123456789abcdef0123 | 200 bad_verification_code: The code passed is incorrect or expired. | kept
    github | client_id=unknown | 200 incorrect_client_credentials: The client_id and/or client_secret passed are incorrect. | kept
    github | client_secret=guess | 200 incorrect_client_credentials: The client_id and/or client_secret passed are incorrect. | kept
    github | redirect_uri=http://127.0.0.1:8000/second?tenant=1 | 200 redirect_uri_mismatch: The redirect_uri MUST match the registered callback URL for this application. | used
    // fastmcp#1724; the status is not confirmed.
    github | -code_verifier | 200 invalid_grant: A code_verifier was not included, but the authorization request included a code_challenge. Codes requested with a code_challenge MUST be redeemed with a code_verifier. | used
    // The error is not confirmed.
    github | code_verifier=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | 200 bad_verification_code: The code passed is incorrect or expired. | used
";

#[tokio::test]
async fn a_token_call_with_a_fault_gets_the_error_of_that_fault() {
    let mock = TestMock::new().await;
    for [provider, changes, error, code] in rows(REFUSED) {
        let provider = provider.parse().unwrap();
        let form = redemption(&mock.code(provider).await);
        let response = mock.token(provider, &form.clone().changed(changes)).await;
        assert_eq!(response.error(), error, "{provider} {changes}");
        if provider == GITHUB {
            let anchor = response.text("error").replace('_', "-");
            let page = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/";
            assert_eq!(response.text("error_uri"), format!("{page}#{anchor}"));
        }
        let works = mock.token(provider, &form).await.is_granted();
        assert_eq!(works, code == "kept", "{provider} {changes}");
    }
}
