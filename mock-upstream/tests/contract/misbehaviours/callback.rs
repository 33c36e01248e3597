//! The parameters of the callback.

use mock_upstream::{Iss, Misbehaviour, Provider};

use super::{GITHUB, GOOGLE, mock_with};
use crate::test_mock::{Params, STATE, authorization, redemption};

async fn callback(provider: Provider, misbehaviour: Misbehaviour) -> Params {
    let mock = mock_with(provider, misbehaviour).await;
    let response = mock.authorize(provider, &authorization(provider)).await;
    response.callback()
}

#[tokio::test]
async fn google_fails_in_the_callback() {
    for (misbehaviour, error) in [
        (Misbehaviour::ServerError, "server_error"),
        (
            Misbehaviour::TemporarilyUnavailable,
            "temporarily_unavailable",
        ),
    ] {
        let callback = callback(GOOGLE, misbehaviour).await;
        assert_eq!(callback.names(), ["error", "state"]);
        assert_eq!(callback.get("error"), Some(error));
        assert_eq!(callback.get("state"), Some(STATE));
    }
}

// "Troubleshooting authorization request errors".
#[tokio::test]
async fn a_suspended_application_has_githubs_description() {
    let callback = callback(GITHUB, Misbehaviour::ApplicationSuspended).await;
    let order = ["error", "error_description", "error_uri", "state", "iss"];
    let description = "Your application has been suspended. Contact support@github.com.";
    assert_eq!(callback.names(), order);
    assert_eq!(callback.get("error"), Some("application_suspended"));
    assert_eq!(callback.get("error_description"), Some(description));
    assert!(
        callback
            .get("error_uri")
            .unwrap()
            .ends_with("#application-suspended")
    );
}

#[tokio::test]
async fn a_callback_can_carry_the_state_alone() {
    for provider in Provider::ALL {
        let callback = callback(provider, Misbehaviour::NoCode).await;
        assert_eq!(callback.names(), ["state"]);
        assert_eq!(callback.get("state"), Some(STATE));
    }
}

#[tokio::test]
async fn a_wrong_issuer_comes_with_a_code_that_works_in_any_iss_setting() {
    for provider in Provider::ALL {
        let mock = mock_with(provider, Misbehaviour::WrongCallbackIssuer).await;
        mock.upstream(provider).set_iss(Iss::Off);
        let response = mock.authorize(provider, &authorization(provider)).await;
        let callback = response.callback();
        assert_eq!(callback.get("iss"), Some("https://issuer.example"));
        let form = redemption(callback.get("code").unwrap());
        let answer = mock.token(provider, &form).await;
        assert!(answer.json()["access_token"].is_string());
    }
}
