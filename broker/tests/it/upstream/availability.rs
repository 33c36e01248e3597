//! The availability of a provider, which depends on the last complete upstream login.

use contract::Provider::{self, GitHub, Google};

use super::providers::{DISCOVERY, FakeProviders, KEYS, Reply, TOKEN, failed_with, legacy_error};
use crate::test_broker::CALLBACK;

fn server_error() -> Reply {
    Reply::of(500, "text/html", "<h1>Unicorn</h1>")
}

#[tokio::test]
async fn a_provider_is_unavailable_from_a_failed_login_until_one_succeeds() {
    let providers = FakeProviders::start().await;
    assert!(providers.is_available(GitHub).await);
    providers.github.set_reply(TOKEN, server_error());
    assert_eq!(
        providers.sign_in(GitHub, 1).await,
        failed_with("provider_unavailable")
    );
    assert!(!providers.is_available(GitHub).await);
    assert!(providers.is_available(Google).await);
    providers
        .github
        .set_reply(TOKEN, super::providers::github_token());
    assert!(providers.sign_in(GitHub, 2).await.is_ok());
    assert!(providers.is_available(GitHub).await);
}

// Threats: B18.
#[tokio::test]
async fn a_provider_is_unavailable_until_its_keys_can_be_fetched() {
    let providers = FakeProviders::start().await;
    let usual = providers.google.reply(KEYS);
    providers.google.set_reply(KEYS, server_error());
    assert_eq!(
        providers.sign_in(Google, 1).await,
        failed_with("provider_unavailable")
    );
    assert!(!providers.is_available(Google).await);
    providers.google.set_reply(KEYS, usual);
    providers.broker.advance_ms(12_000);
    assert!(providers.sign_in(Google, 2).await.is_ok());
    assert!(providers.is_available(Google).await);
}

/// Any client may start a legacy login, so it proves nothing.
#[tokio::test]
async fn a_login_that_never_reaches_the_provider_changes_nothing() {
    let providers = FakeProviders::start().await;
    providers.google.set_reply(DISCOVERY, server_error());
    let response = providers.start_legacy_login(Google).await.redirect;
    response.redirects_to(&(legacy_error("provider_unavailable") + "#"));
    assert!(providers.is_available(Google).await);
    providers
        .start_login(Google, 1)
        .await
        .redirect
        .redirects_to(CALLBACK);
    assert_eq!(
        providers.result(1).await,
        failed_with("provider_unavailable")
    );
    assert!(providers.is_available(Google).await);
}

#[tokio::test]
async fn a_provider_that_refuses_our_credentials_is_unavailable() {
    let providers = FakeProviders::start().await;
    let refused = r#"{"error":"incorrect_client_credentials"}"#;
    providers
        .github
        .set_reply(TOKEN, Reply::of(200, "application/json", refused));
    assert_eq!(
        providers.sign_in(GitHub, 1).await,
        failed_with("provider_unavailable")
    );
    assert!(!providers.is_available(GitHub).await);
}

#[tokio::test]
async fn an_invalid_response_and_an_error_in_the_callback_change_nothing() {
    let providers = FakeProviders::start().await;
    for (query, reply) in [
        ("error=server_error", super::providers::github_token()),
        (
            "error=temporarily_unavailable",
            super::providers::github_token(),
        ),
        ("error=access_denied", super::providers::github_token()),
        ("code=a", Reply::of(200, "text/html", "")),
    ] {
        providers.github.set_reply(TOKEN, reply);
        let login = providers.start_legacy_login(GitHub).await;
        login.return_with(query).await;
        assert!(providers.is_available(GitHub).await);
    }
    // A provider that failed stays unavailable until it works.
    providers.github.set_reply(TOKEN, server_error());
    providers
        .start_legacy_login(GitHub)
        .await
        .return_with("code=a")
        .await;
    assert!(!providers.is_available(GitHub).await);
    providers
        .start_legacy_login(GitHub)
        .await
        .return_with("error=access_denied")
        .await;
    assert!(!providers.is_available(GitHub).await);
}

#[tokio::test]
async fn reading_the_availability_calls_no_provider() {
    let providers = FakeProviders::start().await;
    for _ in 0..10 {
        for provider in Provider::ALL {
            assert!(providers.is_available(provider).await);
        }
    }
    assert!(providers.google.calls().is_empty() && providers.github.calls().is_empty());
}
