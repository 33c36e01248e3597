//! The legacy flow, from the consumer's URL to the profile and the revocation.

use mock_upstream::users::seed_users;
use serde_json::json;

use crate::clean_flow;
use crate::login::{Flow, GITHUB, GOOGLE, PROVIDERS, callback_code};
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::http::UNRECOGNISED;

#[tokio::test]
async fn a_login_goes_from_the_consumers_url_to_profile_and_revocation() {
    for provider in PROVIDERS {
        let stack = TestStack::start().await;
        let backend = &stack.backend;
        let transaction = backend.start_authorization(provider);

        let end = Browser::new().follow(&transaction.url).await;
        let code = callback_code(backend, &transaction, &end.url);
        assert_eq!(code.len(), 43);

        let mut response = backend.redeem(&transaction, &code).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let mut answer = response.json();
        let token = answer["access_token"].take();
        let token = token.as_str().expect("a token");
        assert_eq!(token.len(), "fsi_".len() + 43);
        assert!(token.starts_with("fsi_"));
        assert_eq!(
            answer,
            json!({ "access_token": null, "token_type": "Bearer", "expires_in": 900, "scope": "profile" })
        );

        response = backend.profile(token).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json(), clean_flow::ada(provider));
        backend.revoke(token).await.is(200, "{}");
        backend.profile(token).await.is(401, UNRECOGNISED);
    }
}

#[tokio::test]
async fn both_flows_return_the_same_profile_of_every_user() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for someone in seed_users() {
            let by_clean = clean_flow::profile_of(&stack, provider, someone.key).await;
            stack.queue_user(
                provider,
                someone.at(provider.parse().expect("one of the two")),
            );
            let by_legacy = stack.sign_in(Flow::Legacy, provider).await.profile();
            assert_eq!(by_legacy, by_clean, "{}", someone.reason);
        }
    }
}

#[tokio::test]
async fn the_callback_carries_code_and_state_and_nothing_more() {
    let stack = TestStack::start().await;
    let transaction = stack.backend.start_authorization(GITHUB);
    let browser = Browser::new();
    let end = browser.follow(&format!("{}#x", transaction.url)).await;
    let code = callback_code(&stack.backend, &transaction, &end.url);
    assert_eq!(
        end.url,
        format!(
            "{}?code={code}&state={}",
            stack.backend.callback, transaction.state
        )
    );
}

#[tokio::test]
async fn the_provider_need_not_ask_again_because_the_state_protects_this_flow() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let transaction = stack.backend.start_authorization(provider);
        let redirect = Browser::new().open(&transaction.url).await;
        let to_provider = redirect.location().expect("the provider");
        assert!(to_provider.ends_with('#'), "{to_provider}");
        assert!(!to_provider.contains("prompt="), "{to_provider}");
    }
}

#[tokio::test]
async fn malformed_parameters_redirect_with_an_error_and_a_well_formed_state() {
    check_parameters(&[("provider", "gitlab")]).await;
    check_parameters(&[("code_challenge", "short")]).await;
    check_parameters(&[("code_challenge_method", "plain")]).await;
    check_parameters(&[("code_challenge_method", "s256")]).await;
    check_parameters(&[("response_type", "token")]).await;
}

async fn check_parameters(changes: &[(&str, &str)]) {
    let stack = TestStack::start().await;
    let transaction = stack.backend.start_authorization(GOOGLE);
    let end = Browser::new()
        .follow(&changed(&transaction.url, changes))
        .await;
    assert_eq!(
        end.url,
        format!(
            "{}?error=invalid_request&state={}",
            stack.backend.callback, transaction.state
        )
    );
    assert!(stack.provider(GOOGLE).journal().is_empty());
}

/// `url` with other values for some of its parameters, or with more of them.
fn changed(url: &str, changes: &[(&str, &str)]) -> String {
    let mut url = url::Url::parse(url).expect("a URL");
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let kept: Vec<_> = url
        .query_pairs()
        .into_owned()
        .filter(|(name, _)| !is_changed(name))
        .collect();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(kept)
        .extend_pairs(changes);
    url.into()
}
