//! The authorization request to a provider, and the callback from it.

use std::collections::HashSet;

use contract::Provider::{self, GitHub, Google};
use serde_json::json;

use super::providers::{
    ACCESS_TOKEN, EMAILS, FakeProviders, KEYS, Reply, TOKEN, USER, failed_with, legacy_error,
};
use crate::test_broker::{CALLBACK, authorize_path, parameter};

// Threats: A11.
#[tokio::test]
async fn b03_a_thousand_logins_have_a_thousand_challenges_states_and_nonces() {
    let providers = FakeProviders::start().await;
    let mut seen = HashSet::new();
    for _ in 0..500 {
        for provider in Provider::ALL {
            let login = providers.start_legacy_login(provider).await;
            assert_eq!(login.parameter("code_challenge_method"), "S256");
            let challenge = login.parameter("code_challenge");
            assert_eq!(challenge.len(), 43);
            assert!(seen.insert(challenge));
            assert!(seen.insert(login.parameter("state")));
            if provider == Google {
                assert!(seen.insert(login.parameter("nonce")));
            }
        }
    }
}

// Threats: X9, M4.
#[tokio::test]
async fn b03_both_providers_get_the_verifier_of_their_own_challenge() {
    let providers = FakeProviders::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let login = providers.start_login(provider, key).await;
        assert_eq!(login.parameter("prompt"), "select_account");
        login.return_with("code=4/0A-code").await;
        let form = providers.get(provider).calls_to(TOKEN)[0].form();
        let verifier: contract::CodeVerifier = form["code_verifier"].parse().unwrap();
        assert_eq!(
            verifier.challenge().as_str(),
            login.parameter("code_challenge")
        );
        assert_eq!(form["redirect_uri"], login.parameter("redirect_uri"));
        assert_eq!(form["client_id"], login.parameter("client_id"));
        assert_eq!(form["code"], "4/0A-code");
    }
}

#[tokio::test]
async fn b05_an_issuer_is_compared_exactly_with_a_code_and_with_an_error() {
    let providers = FakeProviders::start().await;
    let (google, github) = (providers.google.url(), providers.github.url());
    let issuer_of = |provider| match provider {
        Google => google.clone(),
        GitHub => format!("{github}/login/oauth"),
    };
    for provider in Provider::ALL {
        let right = issuer_of(provider);
        for iss in [
            format!("iss={}", right.replace("http:", "HTTP:")),
            format!("iss={right}/"),
            format!("iss={}", right.trim_start_matches("http://")),
            "iss=accounts.google.com".to_owned(),
            "iss=https://accounts.google.com".to_owned(),
            format!(
                "iss={}",
                issuer_of(if provider == Google { GitHub } else { Google })
            ),
            "iss=".to_owned(),
            format!("iss={right}&iss={right}"),
        ] {
            for rest in ["code=a-code", "error=access_denied"] {
                let login = providers.start_legacy_login(provider).await;
                let response = login.return_with(&format!("{rest}&{iss}")).await;
                response.redirects_to(&legacy_error("invalid_provider_response"));
            }
        }
        assert!(providers.get(provider).calls_to(TOKEN).is_empty());
        let login = providers.start_legacy_login(provider).await;
        let response = login
            .return_with(&format!("error=access_denied&iss={right}"))
            .await;
        response.redirects_to(&legacy_error("access_denied"));
        let login = providers.start_legacy_login(provider).await;
        let response = login.return_with(&format!("code=a-code&iss={right}")).await;
        assert!(parameter(response.location().unwrap(), "code").is_some());
    }
}

#[tokio::test]
async fn b06_a_callback_counts_only_on_the_path_of_its_own_provider() {
    let providers = FakeProviders::start().await;
    let exchanges = || Provider::ALL.map(|it| providers.get(it).calls_to(TOKEN).len());
    for (provider, other) in [(Google, GitHub), (GitHub, Google)] {
        let before = exchanges();
        let login = providers.start_legacy_login(provider).await;
        let path_of_other = login
            .callback_path("code=a-code")
            .replace(provider.as_str(), other.as_str());
        login
            .get(&path_of_other)
            .await
            .is_refusal_page(400, "upstream_login.own_browser");
        assert_eq!(exchanges(), before);
        let response = login.return_with("code=a-code").await;
        assert!(parameter(response.location().unwrap(), "code").is_some());
    }
}

#[tokio::test]
async fn b07_unknown_parameters_of_a_callback_are_ignored() {
    let providers = FakeProviders::start().await;
    let junk: String = (0..20)
        .map(|n| format!("&future{n}=%F0%9F%A6%80{n}&junk{n}=%3Cscript%3E%00%25%23%26"))
        .collect();
    let known = "&scope=email+openid&authuser=0&prompt=none&hd=corp.example&hd=again\
                 &redirect_uri=https://evil.test/&subject=sub_1";
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let login = providers.start_login(provider, key).await;
        let query = format!("code=a-code{known}{junk}");
        login.return_with(&query).await;
        assert!(providers.result(key).await.is_ok());
        let login = providers.start_legacy_login(provider).await;
        let response = login.return_with(&query).await;
        assert!(parameter(response.location().unwrap(), "code").is_some());
    }
}

#[tokio::test]
async fn b08_a_callback_without_one_usable_code_makes_no_call() {
    let providers = FakeProviders::start().await;
    let long = format!("code={}", "a".repeat(2049));
    for provider in Provider::ALL {
        for query in [
            "code=a&error=access_denied",
            "code=a&error=",
            "x=y",
            "code=",
            "error=",
            "code=a&code=b",
            "code=%00",
            "code=a%0d%0ab",
            "code=%7f",
            &long,
        ] {
            let login = providers.start_legacy_login(provider).await;
            let response = login.return_with(query).await;
            response.redirects_to(&legacy_error("invalid_provider_response"));
        }
        assert!(providers.get(provider).calls_to(TOKEN).is_empty());
    }
}

/// The characters of a bad escape are taken literally, as browsers do.
#[tokio::test]
async fn b08_a_code_with_a_bad_escape_is_sent_unchanged() {
    let providers = FakeProviders::start().await;
    let login = providers.start_login(GitHub, 1).await;
    login.return_with("code=a%zz%").await.redirects_to(CALLBACK);
    assert_eq!(providers.github.calls_to(TOKEN)[0].form()["code"], "a%zz%");
}

// Threats: CVE-2019-8400.
#[tokio::test]
async fn b10_a_providers_error_text_is_repeated_nowhere() {
    let providers = FakeProviders::start().await;
    let words = "<script>alert(1)</script>";
    let texts = format!("error_description={words}&error_uri=https://evil.test/{words}");
    let login = providers.start_login(GitHub, 1).await;
    login
        .return_with(&format!("error={words}&{texts}"))
        .await
        .redirects_to(CALLBACK);
    assert_eq!(
        providers.result(1).await,
        failed_with("invalid_provider_response")
    );
    let body = json!({ "error": words, "error_description": words, "error_uri": words });
    providers.github.set_reply(TOKEN, Reply::json(&body));
    assert_eq!(
        providers.sign_in(GitHub, 2).await,
        failed_with("invalid_provider_response")
    );
    let login = providers.start_legacy_login(GitHub).await;
    let response = login
        .return_with(&format!("error=access_denied&{texts}"))
        .await;
    response.redirects_to(&legacy_error("access_denied"));
    // Nor on the page for a browser without an upstream login.
    let page = providers
        .broker
        .browser()
        .get(&login.callback_path(&texts))
        .await;
    page.is_refusal_page(400, "upstream_login.own_browser");
    assert!(!page.text().contains("script>") && !page.text().contains("evil.test"));
    let audit = format!("{:?}", providers.broker.events());
    assert!(!audit.contains("script>") && !audit.contains("evil.test"));
}

#[tokio::test]
async fn b19_google_gets_calls_for_discovery_keys_and_tokens_alone() {
    let providers = FakeProviders::start().await;
    for key in 1..=3 {
        assert!(providers.sign_in(Google, key).await.is_ok());
    }
    let calls = providers.google.calls();
    let paths: HashSet<_> = calls.iter().map(super::providers::Call::path).collect();
    assert_eq!(
        paths,
        HashSet::from([super::providers::DISCOVERY, KEYS, TOKEN])
    );
    assert_eq!(calls.len(), 1 + 1 + 3);
}

#[tokio::test]
async fn b26_no_scope_is_requested_beyond_the_profile() {
    let providers = FakeProviders::start().await;
    let scopes = [
        (Google, "openid email profile"),
        (GitHub, "read:user user:email"),
    ];
    for (key, (provider, scope)) in (1..).zip(scopes) {
        let clean = providers.start_login(provider, key).await;
        assert_eq!(clean.parameter("scope"), scope);
        assert_eq!(clean.parameter("prompt"), "select_account");
        let login = providers.start_legacy_login(provider).await;
        assert_eq!(login.parameter("scope"), scope);
        let url = login.redirect.location().unwrap();
        for word in [
            "access_type",
            "include_granted_scopes",
            "offline",
            "response_mode",
            "prompt",
        ] {
            assert!(!url.contains(word), "{url}");
        }
    }
}

// Threats: A41.
#[tokio::test]
async fn b27_a_providers_token_is_sent_to_that_provider_alone() {
    let providers = FakeProviders::start().await;
    assert!(providers.sign_in(GitHub, 1).await.is_ok());
    let calls = providers.github.calls();
    let bearers: Vec<_> = calls
        .iter()
        .filter(|call| call.head.contains(&ACCESS_TOKEN.to_lowercase()))
        .map(|call| call.path().to_owned())
        .collect();
    assert_eq!(bearers, [USER, EMAILS]);
    assert_eq!(calls.len(), 3, "none revokes it");
    assert!(providers.sign_in(Google, 2).await.is_ok());
    for call in providers.google.calls() {
        assert!(!format!("{call:?}").contains(ACCESS_TOKEN));
    }
    assert!(!format!("{:?}", providers.broker.events()).contains(ACCESS_TOKEN));
}

#[tokio::test]
async fn b28_two_logins_in_one_browser_end_in_either_order() {
    let providers = FakeProviders::start().await;
    let browser = providers.broker.browser();
    let mut callbacks = Vec::new();
    for provider in [GitHub, Google, GitHub] {
        let path = authorize_path().replace("github", provider.as_str());
        let login = browser.get(&path).await;
        let state = parameter(login.location().unwrap(), "state").unwrap();
        callbacks.push(format!(
            "/callback/{provider}?error=access_denied&state={state}"
        ));
    }
    for callback in [&callbacks[1], &callbacks[2], &callbacks[0]] {
        browser
            .get(callback)
            .await
            .redirects_to(&legacy_error("access_denied"));
    }
}

/// `goes_to` checks the rest: a 303 without a body, with all of our headers.
#[tokio::test]
async fn b29_a_callback_of_a_login_is_answered_by_a_redirect_alone() {
    let providers = FakeProviders::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let login = providers.start_login(provider, key).await;
        let response = login.return_with("code=a-code").await;
        response.redirects_to(CALLBACK);
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        let again = login.return_with("code=a-code").await;
        again.redirects_to(CALLBACK);
    }
}
