//! The behaviour that both providers have in common.

use mock_upstream::{Iss, Misbehaviour, Next, Provider};

use crate::test_mock::{TestMock, authorization, redemption, without_pkce};

// RFC 9207: Google's phased rollout since February 2026; GitHub sent it in April 2026,
// rolled it back, and sends it again since August.
#[tokio::test]
async fn the_setting_decides_which_callbacks_carry_iss() {
    for provider in Provider::ALL {
        check_iss(provider, Iss::Off, false, false).await;
        check_iss(provider, Iss::On, true, false).await;
        check_iss(provider, Iss::Errors, true, true).await;
    }
}

async fn check_iss(provider: Provider, iss: Iss, on_success: bool, on_error: bool) {
    let mock = TestMock::new().await;
    mock.upstream(provider).set_iss(iss);
    let request = authorization(provider);
    let success = mock.authorize(provider, &request).await.callback();
    mock.queue(provider, Next::Misbehave(Misbehaviour::Deny));
    let error = mock.authorize(provider, &request).await.callback();
    assert_eq!(success.get("iss").is_some(), on_success, "{iss:?}");
    assert_eq!(error.get("iss").is_some(), on_error, "{iss:?}");
}

#[tokio::test]
async fn no_state_comes_back_when_none_was_sent() {
    for provider in Provider::ALL {
        let mock = TestMock::new().await;
        let request = authorization(provider).without("state");
        let callback = mock.authorize(provider, &request).await.callback();
        assert_eq!(callback.get("state"), None);
    }
}

// GitHub's changelog of 2025-07-14: recommended, not required.
#[tokio::test]
async fn pkce_is_optional() {
    for provider in Provider::ALL {
        let mock = TestMock::new().await;
        let request = without_pkce(authorization(provider));
        let callback = mock.authorize(provider, &request).await.callback();
        assert!(callback.get("code").is_some());
    }
}

// Google's status is not confirmed.
#[tokio::test]
async fn a_get_of_the_token_endpoint_is_refused_and_keeps_the_code() {
    for provider in Provider::ALL {
        let mock = TestMock::new().await;
        let form = redemption(&mock.code(provider).await);
        let url = format!("{}?{}", mock.token_url(provider), form.encoded());
        assert_eq!(mock.get(&url).await.status, 405);
        let response = mock.token(provider, &form).await;
        assert!(response.json()["access_token"].is_string());
    }
}
