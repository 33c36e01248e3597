//! The queue and the switches.

use mock_upstream::people::seeded;
use mock_upstream::{Iss, Misbehaviour, Mode, Next, Person, Provider};
use reqwest::Method;

use crate::world::{Seen, World, authorization, redemption};

const GOOGLE: Provider = Provider::Google;
const GITHUB: Provider = Provider::GitHub;

fn person(id: &str) -> Person {
    Person {
        id: id.to_owned(),
        ..Person::default()
    }
}

async fn sub(world: &World) -> String {
    let token = world.sign_in(GOOGLE).await.text("access_token");
    look(world, GOOGLE, "/v1/userinfo", &token)
        .await
        .text("sub")
}

async fn look(world: &World, provider: Provider, path: &str, token: &str) -> Seen {
    let url = format!("{}{path}", world.upstream(provider).url());
    let request = world.request(Method::GET, &url);
    Seen::of(request.header("user-agent", "contract").bearer_auth(token)).await
}

const ADA: &str = "100000000000000000001";

#[tokio::test]
async fn the_queue_is_used_in_order_and_then_the_default_person_signs_in() {
    let world = World::new().await;
    world.queue(GOOGLE, Next::Person(person("1")));
    world.queue(GOOGLE, Next::Person(person("2")));
    assert_eq!(sub(&world).await, "1");
    assert_eq!(sub(&world).await, "2");
    assert_eq!(sub(&world).await, ADA);
}

#[tokio::test]
async fn a_queued_entry_is_used_in_interactive_mode_too() {
    let world = World::new().await;
    world.mock.google().set_mode(Mode::Interactive);
    world.queue(GOOGLE, Next::Person(person("1")));
    assert_eq!(sub(&world).await, "1");
    let page = world.authorize(GOOGLE, &authorization(GOOGLE)).await;
    assert_eq!(page.status, 200);
}

#[tokio::test]
async fn a_refused_request_uses_up_no_entry() {
    let world = World::new().await;
    world.queue(GOOGLE, Next::Person(person("1")));
    let refused = authorization(GOOGLE).with("redirect_uri", "https://attacker.example/");
    world
        .authorize(GOOGLE, &refused)
        .await
        .assert_page(400, "redirect_uri_mismatch");
    assert_eq!(sub(&world).await, "1");
}

#[tokio::test]
async fn looking_with_head_uses_up_no_entry() {
    let world = World::new().await;
    world.queue(GOOGLE, Next::Person(person("1")));
    let query = authorization(GOOGLE).encoded();
    let url = format!("{}/o/oauth2/v2/auth?{query}", world.mock.google().url());
    let head = world.request(Method::HEAD, &url).send().await.unwrap();
    assert_eq!(head.headers().get("location"), None);
    assert_eq!(sub(&world).await, "1");
}

#[tokio::test]
async fn the_providers_have_queues_of_their_own() {
    let world = World::new().await;
    world.queue(GITHUB, Next::Misbehave(Misbehaviour::Deny));
    assert_eq!(sub(&world).await, ADA);
    let callback = world
        .authorize(GITHUB, &authorization(GITHUB))
        .await
        .callback();
    assert_eq!(callback.get("error"), Some("access_denied"));
}

#[tokio::test]
async fn everyone_who_is_seeded_can_sign_in_at_both() {
    let world = World::new().await;
    for known in seeded() {
        for provider in Provider::ALL {
            world.queue(provider, Next::Person(known.at(provider).clone()));
            assert_eq!(world.sign_in(provider).await.status, 200, "{}", known.key);
        }
    }
}

#[tokio::test]
async fn a_reset_forgets_everything_and_goes_back_to_the_start() {
    for provider in Provider::ALL {
        let world = World::new().await;
        let upstream = world.upstream(provider);
        let form = redemption(&world.code(provider).await);
        world.queue(provider, Next::Misbehave(Misbehaviour::Deny));
        upstream.set_mode(Mode::Interactive);
        upstream.set_iss(Iss::Off);
        upstream.reset();
        assert_eq!(upstream.journal(), []);
        assert!(world.token(provider, &form).await.body.contains("error"));
        let callback = world
            .authorize(provider, &authorization(provider))
            .await
            .callback();
        assert!(callback.get("code").is_some());
        assert!(callback.get("iss").is_some());
    }
}

#[tokio::test]
async fn a_reset_forgets_the_tokens() {
    let world = World::new().await;
    for (provider, path) in [(GOOGLE, "/v1/userinfo"), (GITHUB, "/user")] {
        let token = world.sign_in(provider).await.text("access_token");
        world.upstream(provider).reset();
        assert_eq!(look(&world, provider, path, &token).await.status, 401);
    }
}

#[tokio::test]
async fn a_reset_of_one_leaves_the_other_alone() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await);
    world.mock.github().reset();
    assert_eq!(world.token(GOOGLE, &form).await.status, 200);
}

#[test]
fn a_switch_knows_its_words_and_lists_them() {
    assert_eq!("interactive".parse(), Ok(Mode::Interactive));
    assert_eq!("automatic".parse(), Ok(Mode::Automatic));
    assert_eq!("on".parse(), Ok(Iss::On));
    assert_eq!("off".parse(), Ok(Iss::Off));
    assert_eq!("errors".parse(), Ok(Iss::Errors));
    let refused = "manual".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(refused, "valid: `interactive`, `automatic`");
}

#[test]
fn a_provider_is_found_by_its_name() {
    for provider in Provider::ALL {
        assert_eq!(provider.name().parse(), Ok(provider));
    }
    assert!("gitlab".parse::<Provider>().is_err());
}
