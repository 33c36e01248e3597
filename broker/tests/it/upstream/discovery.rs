//! The discovery document of Google, and the issuer in it.

use contract::Provider::Google;
use serde_json::json;

use super::keys::sign_in_by;
use super::providers::{DISCOVERY, FakeProviders, KEY_ONE, Reply, discovery_document, failed_with};
use crate::test_broker::CALLBACK;

#[tokio::test]
async fn b21_a_discovery_document_counts_only_with_the_configured_issuer() {
    for issuer in [
        json!("https://accounts.google.com"),
        json!(""),
        json!(null),
        json!(1),
        json!(["x"]),
    ] {
        let providers = FakeProviders::start().await;
        check_issuer(&providers, &issuer).await;
    }
    let providers = FakeProviders::start().await;
    let own = providers.google.url();
    for issuer in [
        format!("{own}/"),
        own.replace("http:", "HTTP:"),
        format!(" {own}"),
    ] {
        let providers = FakeProviders::start().await;
        check_issuer(
            &providers,
            &json!(issuer.replace(&own, &providers.google.url())),
        )
        .await;
    }
}

async fn check_issuer(providers: &FakeProviders, issuer: &serde_json::Value) {
    let mut document = discovery_document(&providers.google.url());
    document["issuer"] = issuer.clone();
    providers
        .google
        .set_reply(DISCOVERY, Reply::json(&document));
    let login = providers.start_login(Google, 1).await;
    login.redirect.redirects_to(CALLBACK);
    assert_eq!(
        providers.result(1).await,
        failed_with("provider_unavailable")
    );
}

/// An old document does not replace a new one that is wrong.
#[tokio::test]
async fn b21_a_later_discovery_document_of_another_issuer_ends_logins_too() {
    let providers = FakeProviders::start().await;
    assert_eq!(sign_in_by(&providers, 1, "one", KEY_ONE).await, Ok(()));
    providers.broker.advance_ms(70_000);
    let mut document = discovery_document(&providers.google.url());
    document["issuer"] = "https://evil.test".into();
    providers
        .google
        .set_reply(DISCOVERY, Reply::json(&document));
    providers
        .start_login(Google, 2)
        .await
        .redirect
        .redirects_to(CALLBACK);
    assert_eq!(
        providers.result(2).await,
        failed_with("provider_unavailable")
    );
}
