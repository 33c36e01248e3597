//! The controls of a provider: queue, mode, `iss` and reset.

use mock_upstream::users::seed_users;
use mock_upstream::{Iss, Labels, Misbehaviour, Mode, Next, Provider, User};
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
    assert_eq!(head.status(), 200);
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

/// A mock that labels the sign-in with the state `for a` with `a`.
async fn labelled() -> TestMock {
    TestMock::with(|settings| {
        let label_of = |state: &str| state.strip_prefix("for ").map(str::to_owned);
        settings.labels = Labels::new(label_of);
    })
    .await
}

/// The error in the callback of a sign-in with this state.
async fn error_for(mock: &TestMock, provider: Provider, state: &str) -> Option<String> {
    let params = authorization(provider).with("state", state);
    let callback = mock.authorize(provider, &params).await.callback();
    callback.get("error").map(str::to_owned)
}

const DENY: Next = Next::Misbehave(Misbehaviour::Deny);
const SUSPEND: Next = Next::Misbehave(Misbehaviour::ApplicationSuspended);

#[tokio::test]
async fn an_entry_for_a_label_waits_for_its_own_sign_in() {
    let mock = labelled().await;
    for provider in Provider::ALL {
        mock.upstream(provider).queue_for("a", DENY).unwrap();
        for other in ["for b", "a", "x"] {
            assert_eq!(error_for(&mock, provider, other).await, None, "{other}");
        }
        let error = error_for(&mock, provider, "for a").await;
        assert_eq!(error.as_deref(), Some("access_denied"));
        assert_eq!(error_for(&mock, provider, "for a").await, None);
    }
}

#[tokio::test]
async fn a_sign_in_takes_the_first_entry_that_is_for_it_and_leaves_the_others_in_their_order() {
    let mock = labelled().await;
    let github = mock.upstream(GITHUB);
    for (label, next) in [("b", DENY), ("a", SUSPEND), ("b", SUSPEND)] {
        github.queue_for(label, next).unwrap();
    }
    github.queue(DENY).unwrap();
    let mut met = Vec::new();
    for state in ["for a", "for a", "for b", "for b", "for b"] {
        met.push(error_for(&mock, GITHUB, state).await);
    }
    let (deny, suspend) = ("access_denied", "application_suspended");
    let met: Vec<_> = met.iter().map(Option::as_deref).collect();
    assert_eq!(
        met,
        [Some(suspend), Some(deny), Some(deny), Some(suspend), None]
    );
}

#[tokio::test]
async fn without_a_label_a_sign_in_takes_the_entries_for_any() {
    let mock = labelled().await;
    let github = mock.upstream(GITHUB);
    github.queue_for("a", SUSPEND).unwrap();
    github.queue(DENY).unwrap();
    let without_state = authorization(GITHUB).without("state");
    let callback = mock.authorize(GITHUB, &without_state).await.callback();
    assert_eq!(callback.get("error"), Some("access_denied"));
    let waiting = github.queued();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].label.as_deref(), Some("a"));
}

#[tokio::test]
async fn a_queued_entry_can_be_removed_and_the_others_keep_their_order() {
    let mock = TestMock::new().await;
    let google = mock.upstreams.google();
    let ids = ["1", "2", "3"].map(|id| google.queue(Next::User(user(id))).unwrap());
    let removed = google.remove_queued(ids[1]).unwrap();
    assert_eq!(removed.next, Next::User(user("2")));
    assert_eq!(google.remove_queued(ids[1]), None);
    assert_eq!(sub(&mock).await, "1");
    // A sign-in was faster.
    assert_eq!(google.remove_queued(ids[0]), None);
    assert_eq!(sub(&mock).await, "3");
    assert_eq!(sub(&mock).await, ADA);
}

#[tokio::test]
async fn an_id_from_before_a_reset_removes_nothing() {
    let mock = TestMock::new().await;
    let google = mock.upstreams.google();
    let before = google.queue(DENY).unwrap();
    google.reset();
    let after = google.queue(DENY).unwrap();
    assert_eq!(google.remove_queued(before), None);
    assert_eq!(google.queued()[0].id, after);
    assert_eq!(google.clear_queue(), 1);
    assert!(google.queued().is_empty());
}

#[tokio::test]
async fn every_seed_user_can_sign_in_at_both_providers() {
    let mock = TestMock::new().await;
    for known in seed_users() {
        for provider in Provider::ALL {
            mock.queue(provider, Next::User(known.at(provider).unwrap().clone()));
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
