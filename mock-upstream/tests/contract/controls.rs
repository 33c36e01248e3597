//! The controls of a provider: queue, mode, `iss` and reset.

use mock_upstream::users::seed_users;
use mock_upstream::{Iss, Misbehaviour, Mode, Next, Provider, User};
use reqwest::Method;

use crate::test_mock::{TestMock, authorization, redemption};

const GOOGLE: Provider = Provider::Google;
const GITHUB: Provider = Provider::GitHub;

fn user(id: &str) -> User {
    User {
        id: id.to_owned(),
        ..User::default()
    }
}

async fn sub(mock: &TestMock) -> String {
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    mock.get_with_token(GOOGLE, "/v1/userinfo", &token)
        .await
        .text("sub")
}

const ADA: &str = "100000000000000000001";

#[tokio::test]
async fn the_queue_is_used_in_order_and_then_the_default_user_signs_in() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(user("1")));
    mock.queue(GOOGLE, Next::User(user("2")));
    assert_eq!(sub(&mock).await, "1");
    assert_eq!(sub(&mock).await, "2");
    assert_eq!(sub(&mock).await, ADA);
}

#[tokio::test]
async fn a_queued_entry_is_used_in_interactive_mode_too() {
    let mock = TestMock::new().await;
    mock.upstreams.google().set_mode(Mode::Interactive);
    mock.queue(GOOGLE, Next::User(user("1")));
    assert_eq!(sub(&mock).await, "1");
    let page = mock.authorize(GOOGLE, &authorization(GOOGLE)).await;
    assert_eq!(page.status, 200);
}

#[tokio::test]
async fn a_refused_request_leaves_the_queue() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(user("1")));
    let refused = authorization(GOOGLE).with("redirect_uri", "https://attacker.example/");
    mock.authorize(GOOGLE, &refused)
        .await
        .assert_page(400, "redirect_uri_mismatch");
    assert_eq!(sub(&mock).await, "1");
}

#[tokio::test]
async fn a_head_request_leaves_the_queue() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(user("1")));
    let query = authorization(GOOGLE).encoded();
    let url = format!("{}/o/oauth2/v2/auth?{query}", mock.upstreams.google().url());
    let head = mock.request(Method::HEAD, &url).send().await.unwrap();
    assert_eq!(head.headers().get("location"), None);
    assert_eq!(sub(&mock).await, "1");
}

#[tokio::test]
async fn each_provider_has_its_own_queue() {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::Misbehave(Misbehaviour::Deny));
    assert_eq!(sub(&mock).await, ADA);
    let callback = mock
        .authorize(GITHUB, &authorization(GITHUB))
        .await
        .callback();
    assert_eq!(callback.get("error"), Some("access_denied"));
}

#[tokio::test]
async fn every_seed_user_can_sign_in_at_both_providers() {
    let mock = TestMock::new().await;
    for known in seed_users() {
        for provider in Provider::ALL {
            mock.queue(provider, Next::User(known.at(provider).clone()));
            assert_eq!(mock.sign_in(provider).await.status, 200, "{}", known.key);
        }
    }
}

#[tokio::test]
async fn a_reset_forgets_codes_and_queue_and_restores_the_switches() {
    for provider in Provider::ALL {
        let mock = TestMock::new().await;
        let upstream = mock.upstream(provider);
        let form = redemption(&mock.code(provider).await);
        mock.queue(provider, Next::Misbehave(Misbehaviour::Deny));
        upstream.set_mode(Mode::Interactive);
        upstream.set_iss(Iss::Off);
        upstream.reset();
        assert_eq!(upstream.journal(), []);
        assert!(mock.token(provider, &form).await.body.contains("error"));
        let callback = mock
            .authorize(provider, &authorization(provider))
            .await
            .callback();
        assert!(callback.get("code").is_some());
        assert!(callback.get("iss").is_some());
    }
}

#[tokio::test]
async fn a_reset_forgets_the_tokens() {
    let mock = TestMock::new().await;
    for (provider, path) in [(GOOGLE, "/v1/userinfo"), (GITHUB, "/user")] {
        let token = mock.sign_in(provider).await.text("access_token");
        mock.upstream(provider).reset();
        assert_eq!(
            mock.get_with_token(provider, path, &token).await.status,
            401
        );
    }
}

#[tokio::test]
async fn a_reset_of_one_provider_leaves_the_other() {
    let mock = TestMock::new().await;
    let form = redemption(&mock.code(GOOGLE).await);
    mock.upstreams.github().reset();
    assert_eq!(mock.token(GOOGLE, &form).await.status, 200);
}

#[test]
fn a_switch_parses_its_values_and_an_error_lists_them() {
    assert_eq!("interactive".parse(), Ok(Mode::Interactive));
    assert_eq!("automatic".parse(), Ok(Mode::Automatic));
    assert_eq!("on".parse(), Ok(Iss::On));
    assert_eq!("off".parse(), Ok(Iss::Off));
    assert_eq!("errors".parse(), Ok(Iss::Errors));
    let refused = "manual".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(refused, "valid: `interactive`, `automatic`");
}

#[test]
fn a_provider_is_parsed_from_its_name() {
    for provider in Provider::ALL {
        assert_eq!(provider.name().parse(), Ok(provider));
    }
    assert!("gitlab".parse::<Provider>().is_err());
}
