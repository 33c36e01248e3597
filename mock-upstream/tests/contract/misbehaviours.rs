//! The misbehaviours: each one sends what its description says.
//!
//! The broker's reaction is a matter of `e2e`.

mod callback;
mod connection;
mod id_token;
mod odd_account;
mod rest_api;
mod token_response;

use std::collections::HashSet;

use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider};

use crate::test_mock::{Response, TestMock, redemption};

const GOOGLE: Provider = Provider::Google;
const GITHUB: Provider = Provider::GitHub;

async fn mock_with(provider: Provider, misbehaviour: Misbehaviour) -> TestMock {
    let mock = TestMock::new().await;
    mock.queue(provider, Next::Misbehave(misbehaviour));
    mock
}

async fn token_response(provider: Provider, misbehaviour: Misbehaviour) -> Response {
    let mock = mock_with(provider, misbehaviour).await;
    mock.sign_in(provider).await
}

#[test]
fn every_misbehaviour_is_parsed_from_its_name() {
    for provider in Provider::ALL {
        for &misbehaviour in Misbehaviour::of(provider) {
            let parsed = Misbehaviour::parse(provider, misbehaviour.name());
            assert_eq!(parsed, Ok(misbehaviour));
        }
    }
}

#[test]
fn every_misbehaviour_has_a_sentence_of_its_own_as_description() {
    for provider in Provider::ALL {
        let known = Misbehaviour::of(provider);
        let descriptions: HashSet<_> = known.iter().map(|it| it.description(provider)).collect();
        assert!(descriptions.iter().all(|it| it.ends_with('.')));
        assert_eq!(descriptions.len(), known.len());
    }
}

#[test]
fn an_error_is_a_value_of_the_login_result() {
    let values = [
        "access_denied",
        "invalid_provider_response",
        "provider_unavailable",
    ];
    for provider in Provider::ALL {
        for known in Misbehaviour::of(provider) {
            let is_odd = known.group() == Group::Odd;
            assert_eq!(known.error().is_none(), is_odd, "{}", known.name());
            assert!(known.error().is_none_or(|error| values.contains(&error)));
        }
    }
}

// Other programs use these names.
#[test]
fn the_first_names_are_stable() {
    let both =
        "deny server_error timeout reset rate_limited token_refused token_garbage token_html";
    let google =
        "wrong_nonce wrong_audience wrong_issuer bad_signature expired_id_token unknown_kid";
    let github = "profile_refused profile_garbage";
    for (provider, own, foreign) in [(GOOGLE, google, github), (GITHUB, github, google)] {
        for name in both.split(' ').chain(own.split(' ')) {
            assert!(Misbehaviour::parse(provider, name).is_ok(), "{name}");
        }
        for name in foreign.split(' ') {
            assert!(Misbehaviour::parse(provider, name).is_err(), "{name}");
        }
    }
}

#[test]
fn the_error_for_an_unknown_name_lists_the_known_ones() {
    let refused = Misbehaviour::parse(GITHUB, "wrong_nonce").unwrap_err();
    let refused = refused.to_string();
    assert!(refused.starts_with("GitHub can misbehave as: deny, server_error, "));
    assert!(refused.contains("profile_refused"));
    assert!(!refused.contains("bad_signature"));
}

#[tokio::test]
async fn a_misbehaviour_of_the_other_provider_cannot_be_queued() {
    let mock = TestMock::new().await;
    let next = Next::Misbehave(Misbehaviour::BadSignature);
    assert!(mock.upstreams.github().queue(next.clone()).is_err());
    assert!(mock.upstreams.google().queue(next).is_ok());
}

#[tokio::test]
async fn a_misbehaviour_affects_its_own_sign_in_alone() {
    for provider in Provider::ALL {
        let mock = mock_with(provider, Misbehaviour::TokenEmpty).await;
        let corrupted = redemption(&mock.code(provider).await);
        let good = redemption(&mock.code(provider).await);
        assert!(mock.token(provider, &good).await.json()["access_token"].is_string());
        assert_eq!(mock.token(provider, &corrupted).await.body, "");
    }
}

#[tokio::test]
async fn no_misbehaviour_hides_an_error_in_the_request() {
    for provider in Provider::ALL {
        let at_the_token_call = Misbehaviour::of(provider)
            .iter()
            .filter(|known| known.group() != Group::Callback);
        for &misbehaviour in at_the_token_call {
            let mock = mock_with(provider, misbehaviour).await;
            let form = redemption(&mock.code(provider).await).without("code_verifier");
            let response = mock.token(provider, &form).await;
            assert_eq!(
                response.text("error"),
                "invalid_grant",
                "{}",
                misbehaviour.name()
            );
        }
    }
}
