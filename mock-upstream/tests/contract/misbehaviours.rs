//! What goes wrong when it is told to: that what is sent is really that.
//!
//! One module per group of the table. How the broker takes it is a matter of
//! `e2e`.

mod account;
mod callback;
mod connection;
mod id_token;
mod odd;
mod token_answer;

use std::collections::HashSet;

use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider};

use crate::world::{Seen, World, redemption};

const GOOGLE: Provider = Provider::Google;
const GITHUB: Provider = Provider::GitHub;

async fn world_with(provider: Provider, misbehaviour: Misbehaviour) -> World {
    let world = World::new().await;
    world.queue(provider, Next::Misbehave(misbehaviour));
    world
}

async fn token_answer(provider: Provider, misbehaviour: Misbehaviour) -> Seen {
    let world = world_with(provider, misbehaviour).await;
    world.sign_in(provider).await
}

#[test]
fn every_misbehaviour_has_a_name_that_leads_back_to_it() {
    for provider in Provider::ALL {
        for &misbehaviour in Misbehaviour::of(provider) {
            let parsed = Misbehaviour::parse(provider, misbehaviour.name());
            assert_eq!(parsed, Ok(misbehaviour));
        }
    }
}

#[test]
fn every_misbehaviour_says_in_a_sentence_of_its_own_what_is_sent() {
    for provider in Provider::ALL {
        let known = Misbehaviour::of(provider);
        let says: HashSet<_> = known.iter().map(|known| known.says(provider)).collect();
        assert!(says.iter().all(|says| says.ends_with('.')));
        assert_eq!(says.len(), known.len());
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

// Other programs call them by these names.
#[test]
fn the_first_names_stay() {
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
fn an_unknown_name_is_answered_with_the_known_ones() {
    let refused = Misbehaviour::parse(GITHUB, "wrong_nonce").unwrap_err();
    let refused = refused.to_string();
    assert!(refused.starts_with("GitHub can misbehave as: deny, server_error, "));
    assert!(refused.contains("profile_refused"));
    assert!(!refused.contains("bad_signature"));
}

#[tokio::test]
async fn what_a_provider_cannot_do_wrong_is_not_queued() {
    let world = World::new().await;
    let next = Next::Misbehave(Misbehaviour::BadSignature);
    assert!(world.mock.github().queue(next.clone()).is_err());
    assert!(world.mock.google().queue(next).is_ok());
}

#[tokio::test]
async fn a_misbehaviour_concerns_its_own_sign_in() {
    for provider in Provider::ALL {
        let world = world_with(provider, Misbehaviour::TokenEmpty).await;
        let spoiled = redemption(&world.code(provider).await);
        let sound = redemption(&world.code(provider).await);
        assert!(world.token(provider, &sound).await.json()["access_token"].is_string());
        assert_eq!(world.token(provider, &spoiled).await.body, "");
    }
}

#[tokio::test]
async fn no_misbehaviour_hides_a_request_that_is_wrong_itself() {
    for provider in Provider::ALL {
        let at_the_token_call = Misbehaviour::of(provider)
            .iter()
            .filter(|known| known.group() != Group::Callback);
        for &misbehaviour in at_the_token_call {
            let world = world_with(provider, misbehaviour).await;
            let form = redemption(&world.code(provider).await).without("code_verifier");
            let seen = world.token(provider, &form).await;
            assert_eq!(
                seen.text("error"),
                "invalid_grant",
                "{}",
                misbehaviour.name()
            );
        }
    }
}
