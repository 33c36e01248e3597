//! What goes wrong at a provider ends as one of three errors, and the browser
//! always comes home.

use mock_upstream::Misbehaviour;

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::lone::{Lone, Trouble};
use crate::world::World;

#[tokio::test]
async fn every_misbehaviour_ends_with_the_error_that_is_documented_for_it() {
    let world = World::start().await;
    for provider in PROVIDERS {
        for misbehaviour in world.upstream(provider).misbehaviours() {
            for flow in FLOWS {
                world.next_goes_wrong(provider, *misbehaviour);
                let outcome = world.sign_in(flow, provider).await;
                outcome.is_error(misbehaviour.error());
            }
        }
    }
}

#[tokio::test]
async fn a_provider_is_asked_for_a_token_at_most_once_whatever_it_answers() {
    let world = World::start().await;
    for provider in PROVIDERS {
        for misbehaviour in world.upstream(provider).misbehaviours() {
            for flow in FLOWS {
                let before = world.token_calls(provider);
                world.next_goes_wrong(provider, *misbehaviour);
                world.sign_in(flow, provider).await;
                let calls = world.token_calls(provider) - before;
                assert!(calls <= 1, "{provider} {}", misbehaviour.name());
            }
        }
    }
}

#[tokio::test]
async fn a_person_who_declines_is_never_asked_about_at_the_token_endpoint() {
    let world = World::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            world.next_goes_wrong(provider, Misbehaviour::Deny);
            world
                .sign_in(flow, provider)
                .await
                .is_error("access_denied");
        }
        assert_eq!(world.token_calls(provider), 0);
    }
}

#[tokio::test]
async fn after_a_failure_the_next_login_succeeds() {
    let world = World::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            world.next_goes_wrong(provider, Misbehaviour::Reset);
            world
                .sign_in(flow, provider)
                .await
                .is_error("provider_unavailable");
            world.sign_in(flow, provider).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_shown_as_unavailable_until_it_works_again() {
    let world = World::start().await;
    assert!(is_available(&world, GITHUB).await);
    world.next_goes_wrong(GITHUB, Misbehaviour::ServerError);
    world
        .sign_in(Flow::Clean, GITHUB)
        .await
        .is_error("provider_unavailable");
    assert!(!is_available(&world, GITHUB).await);
    assert!(is_available(&world, GOOGLE).await);
    world.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
    assert!(is_available(&world, GITHUB).await);
}

async fn is_available(world: &World, provider: &str) -> bool {
    let statuses = world.backend.providers().await.json();
    let statuses = statuses.as_array().expect("a list");
    let status = statuses.iter().find(|status| status["id"] == provider);
    status.expect("both are listed")["available"] == true
}

#[tokio::test]
async fn our_own_wrong_credentials_look_like_an_unavailable_provider() {
    let lone = Lone::start(Trouble::WrongSecret).await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            lone.sign_in(flow, provider)
                .await
                .is_error("provider_unavailable");
        }
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_unavailable() {
    let lone = Lone::start(Trouble::NobodyListens).await;
    for flow in FLOWS {
        // Google says by discovery where the person goes; without it nobody leaves.
        lone.sign_in(flow, GOOGLE)
            .await
            .is_error("provider_unavailable");
        // GitHub's address is known; the broker finds out at the token call.
        lone.sign_in_with_an_invented_answer(flow, GITHUB)
            .await
            .is_error("provider_unavailable");
    }
}
