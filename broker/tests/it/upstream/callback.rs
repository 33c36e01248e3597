//! The authorization request to a provider, and the callback from it.

use std::collections::{BTreeSet, HashSet};

use contract::Provider::{self, GitHub, Google};
use serde_json::json;

use super::{DISCOVERY, FakeProviders, KEYS, legacy_error};
use crate::fake_provider::{ACCESS_TOKEN, Call, EMAILS, FakeProvider, Reply, TOKEN, USER};
use crate::test_broker::{CALLBACK, OUR_SECRET};

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

/// The characters of a bad escape in a code are taken literally, as browsers do.
// Threats: X9, M4.
#[tokio::test]
async fn b03_b08_both_providers_get_the_verifier_of_their_own_challenge_and_the_code_unchanged() {
    let providers = FakeProviders::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let login = providers.start_login(provider, key).await;
        assert_eq!(login.parameter("prompt"), "select_account");
        let returned = login.return_with("code=4/0A%zz%").await;
        returned.redirects_to(CALLBACK);
        let form = providers.get(provider).calls_to(TOKEN)[0].form();
        let verifier: contract::CodeVerifier = form["code_verifier"].parse().unwrap();
        let challenge = login.parameter("code_challenge");
        assert_eq!(verifier.challenge().as_str(), challenge);
        for name in ["redirect_uri", "client_id"] {
            assert_eq!(form[name], login.parameter(name));
        }
        assert_eq!(form["code"], "4/0A%zz%");
    }
}

#[tokio::test]
async fn b05_an_issuer_is_compared_exactly_with_a_code_and_with_an_error() {
    let providers = FakeProviders::start().await;
    let [google, github] = [&providers.google, &providers.github].map(FakeProvider::url);
    let github = format!("{github}/login/oauth");
    for (provider, right, other) in [(Google, &google, &github), (GitHub, &github, &google)] {
        for iss in [
            &format!("iss={}", right.replace("http:", "HTTP:")),
            &format!("iss={right}/"),
            &format!("iss={}", right.trim_start_matches("http://")),
            "iss=accounts.google.com",
            "iss=https://accounts.google.com",
            &format!("iss={other}"),
            "iss=",
            &format!("iss={right}&iss={right}"),
        ] {
            for rest in ["code=a-code", "error=access_denied"] {
                let query = format!("{rest}&{iss}");
                let result = providers.return_with(provider, &query).await;
                assert_eq!(result.unwrap_err(), "invalid_provider_response", "{iss}");
            }
        }
        assert!(providers.get(provider).calls_to(TOKEN).is_empty());
        let query = format!("error=access_denied&iss={right}");
        let result = providers.return_with(provider, &query).await;
        assert_eq!(result.unwrap_err(), "access_denied");
        let query = format!("code=a-code&iss={right}");
        assert!(providers.return_with(provider, &query).await.is_ok());
    }
}

#[tokio::test]
async fn b06_a_callback_counts_only_on_the_path_of_its_own_provider() {
    let providers = FakeProviders::start().await;
    let exchanges = || Provider::ALL.map(|it| providers.get(it).calls_to(TOKEN).len());
    for (provider, other) in [(Google, GitHub), (GitHub, Google)] {
        let before = exchanges();
        let login = providers.start_legacy_login(provider).await;
        let path = login.callback_path("code=a-code");
        let path_of_other = path.replace(provider.as_str(), other.as_str());
        let refused = login.browser.get(&path_of_other).await;
        refused.is_refusal_page(400, "upstream_login.own_browser");
        assert_eq!(exchanges(), before);
        assert!(login.finish("code=a-code").await.is_ok());
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
    for provider in Provider::ALL {
        let query = format!("code=a-code{known}{junk}");
        assert!(providers.return_with(provider, &query).await.is_ok());
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
            "error=Access_Denied",
            "error=access_denied&error=access_denied",
            "code=a&code=b",
            "code=%00",
            "code=a%0d%0ab",
            "code=%7f",
            &long,
        ] {
            let result = providers.return_with(provider, query).await;
            assert_eq!(result.unwrap_err(), "invalid_provider_response", "{query}");
        }
        assert!(providers.get(provider).calls_to(TOKEN).is_empty());
    }
}

// Threats: CVE-2019-8400.
#[tokio::test]
async fn b10_a_providers_error_text_is_repeated_nowhere() {
    let providers = FakeProviders::start().await;
    let words = "<script>alert(1)</script>";
    let texts = format!("error_description={words}&error_uri=https://evil.test/{words}");
    let body = json!({ "error": words, "error_description": words, "error_uri": words });
    providers.github.set_reply(TOKEN, Reply::json(&body));
    let invalid = "invalid_provider_response";
    for (query, error) in [
        (&*format!("error={words}&{texts}"), invalid),
        ("code=a-code", invalid),
        (&format!("error=access_denied&{texts}"), "access_denied"),
    ] {
        let login = providers.start_legacy_login(GitHub).await;
        let returned = login.return_with(query).await;
        returned.redirects_to(&legacy_error(error));
    }
    let login = providers.start_legacy_login(GitHub).await;
    // Nor on the page for a browser without an upstream login.
    let stranger = providers.broker.browser();
    let page = stranger.get(&login.callback_path(&texts)).await;
    page.is_refusal_page(400, "upstream_login.own_browser");
    assert!(!page.text().contains("script>") && !page.text().contains("evil.test"));
    let audit = format!("{:?}", providers.broker.events());
    assert!(!audit.contains("script>") && !audit.contains("evil.test"));
}

#[tokio::test]
async fn b26_no_scope_is_requested_beyond_the_profile() {
    let providers = FakeProviders::start().await;
    let scopes = [
        (Google, "openid email profile"),
        (GitHub, "read:user user:email"),
    ];
    for (provider, scope) in scopes {
        let login = providers.start_legacy_login(provider).await;
        assert_eq!(login.parameter("scope"), scope);
        let url = login.redirect.location().unwrap();
        let others = "access_type include_granted_scopes offline response_mode prompt";
        assert!(!others.split(' ').any(|it| url.contains(it)), "{url}");
    }
}

// Threats: A41, B19.
#[tokio::test]
async fn b27_a_providers_token_is_sent_back_to_it_alone_our_secret_to_token_endpoints_alone() {
    let providers = FakeProviders::start().await;
    let are_called = |provider, paths: &[&str]| {
        let calls = providers.get(provider).calls();
        let called: BTreeSet<_> = calls.iter().map(Call::path).collect();
        assert_eq!(called, paths.iter().copied().collect());
    };
    for _ in 0..3 {
        assert!(providers.log_in(GitHub).await.is_ok());
        assert!(providers.log_in(Google).await.is_ok());
    }
    // None revokes it.
    are_called(GitHub, &[TOKEN, USER, EMAILS]);
    are_called(Google, &[DISCOVERY, KEYS, TOKEN]);
    assert_eq!(providers.google.calls().len(), 1 + 1 + 3);
    for call in Provider::ALL.map(|it| providers.get(it).calls()).concat() {
        let has_our_secret = format!("{call:?}").contains(OUR_SECRET);
        assert_eq!(has_our_secret, call.path() == TOKEN, "{}", call.line);
    }
    for call in providers.github.calls() {
        let has_token = call.head.contains(&ACCESS_TOKEN.to_lowercase());
        assert_eq!(has_token, call.path() != TOKEN, "{}", call.line);
    }
    for call in providers.google.calls() {
        assert!(!format!("{call:?}").contains(ACCESS_TOKEN));
    }
    assert!(!format!("{:?}", providers.broker.events()).contains(ACCESS_TOKEN));
}
