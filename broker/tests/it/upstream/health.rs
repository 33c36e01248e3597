//! Whether a provider is shown as available: what complete upstream logins saw of it.

use contract::Provider::{self, GitHub, Google};

use super::script::Reply;
use super::stage::{DISCOVERY, KEYS, Stage, TOKEN, is, legacy_home};
use crate::test_broker::CALLBACK;

fn trouble() -> Reply {
    Reply::of(500, "text/html", "<h1>Unicorn</h1>")
}

#[tokio::test]
async fn a_failing_upstream_login_switches_a_provider_off_and_a_later_success_on() {
    let stage = Stage::start().await;
    assert!(stage.is_available(GitHub).await);
    stage.github.replies(TOKEN, trouble());
    assert_eq!(stage.sign_in(GitHub, 1).await, is("provider_unavailable"));
    assert!(!stage.is_available(GitHub).await);
    assert!(stage.is_available(Google).await);
    stage.github.replies(TOKEN, super::stage::github_grants());
    assert!(stage.sign_in(GitHub, 2).await.is_ok());
    assert!(stage.is_available(GitHub).await);
}

#[tokio::test]
async fn a_provider_whose_keys_cannot_be_had_is_off_until_they_can() {
    let stage = Stage::start().await;
    let honest = stage.google.reply(KEYS);
    stage.google.replies(KEYS, trouble());
    assert_eq!(stage.sign_in(Google, 1).await, is("provider_unavailable"));
    assert!(!stage.is_available(Google).await);
    stage.google.replies(KEYS, honest);
    stage.world.advance_ms(12_000);
    assert!(stage.sign_in(Google, 2).await.is_ok());
    assert!(stage.is_available(Google).await);
}

/// Anybody may start a legacy login.
#[tokio::test]
async fn a_login_that_cannot_even_leave_for_the_provider_switches_nothing() {
    let stage = Stage::start().await;
    stage.google.replies(DISCOVERY, trouble());
    let home = stage.depart_legacy(Google).await.departure;
    home.redirects_to(&(legacy_home("provider_unavailable") + "#"));
    assert!(stage.is_available(Google).await);
    stage
        .depart(Google, 1)
        .await
        .departure
        .redirects_to(CALLBACK);
    assert_eq!(stage.outcome(1).await, is("provider_unavailable"));
    assert!(stage.is_available(Google).await);
}

#[tokio::test]
async fn our_own_wrong_credentials_switch_a_provider_off() {
    let stage = Stage::start().await;
    let refused = r#"{"error":"incorrect_client_credentials"}"#;
    stage
        .github
        .replies(TOKEN, Reply::of(200, "application/json", refused));
    assert_eq!(stage.sign_in(GitHub, 1).await, is("provider_unavailable"));
    assert!(!stage.is_available(GitHub).await);
}

#[tokio::test]
async fn an_answer_that_proves_nothing_and_a_browsers_word_switch_nothing() {
    let stage = Stage::start().await;
    for (query, reply) in [
        ("error=server_error", super::stage::github_grants()),
        ("error=access_denied", super::stage::github_grants()),
        ("code=a", Reply::of(200, "text/html", "")),
    ] {
        stage.github.replies(TOKEN, reply);
        let away = stage.depart_legacy(GitHub).await;
        away.back(query).await;
        assert!(stage.is_available(GitHub).await);
        // Nor on: a provider that failed has to work once more.
    }
    stage.github.replies(TOKEN, trouble());
    stage.depart_legacy(GitHub).await.back("code=a").await;
    assert!(!stage.is_available(GitHub).await);
    stage
        .depart_legacy(GitHub)
        .await
        .back("error=access_denied")
        .await;
    assert!(!stage.is_available(GitHub).await);
}

#[tokio::test]
async fn asking_whether_providers_work_asks_no_provider() {
    let stage = Stage::start().await;
    for _ in 0..10 {
        for provider in Provider::ALL {
            assert!(stage.is_available(provider).await);
        }
    }
    assert!(stage.google.calls().is_empty() && stage.github.calls().is_empty());
}
