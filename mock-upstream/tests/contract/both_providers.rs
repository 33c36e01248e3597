//! The behaviour that both providers have in common.

use mock_upstream::{Iss, Misbehaviour, Next, Provider};

use crate::test_mock::{
    CLIENT_ID, CLIENT_SECRET, GITHUB, GOOGLE, Response, TestMock, authorization, redemption,
    token_path,
};

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
    let bad_code = "200 bad_verification_code: The code passed is incorrect or expired.";
    check_code(&mock, GITHUB, 600_000, bad_code).await;
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
async fn a_client_can_authenticate_with_basic() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        let form = redemption(&mock.code(provider).await);
        let form = form.changed("-client_id; -client_secret");
        let request = mock.token_call(provider).form(&form.0);
        let request = request.basic_auth(CLIENT_ID, Some(CLIENT_SECRET));
        assert!(Response::of(request).await.is_granted());
    }
}

// Google's status is not confirmed.
#[tokio::test]
async fn a_get_of_the_token_endpoint_is_refused_and_keeps_the_code() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        let form = redemption(&mock.code(provider).await);
        let path = format!("{}?{}", token_path(provider), form.encoded());
        assert_eq!(mock.get(provider, &path).await.status, 405);
        assert!(mock.token(provider, &form).await.is_granted());
    }
}
