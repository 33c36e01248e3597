//! What the browser brings back, and what we ask for when we send it away.

use std::collections::HashSet;

use contract::Provider::{self, GitHub, Google};
use serde_json::json;

use super::script::Reply;
use super::stage::{ACCESS_TOKEN, EMAILS, KEYS, Stage, TOKEN, USER, is, legacy_home};
use crate::test_broker::{CALLBACK, authorize_path, parameter};

#[tokio::test]
async fn b03_a_thousand_logins_have_a_thousand_challenges_states_and_nonces() {
    let stage = Stage::start().await;
    let mut seen = HashSet::new();
    for _ in 0..500 {
        for provider in Provider::ALL {
            let away = stage.depart_legacy(provider).await;
            assert_eq!(away.parameter("code_challenge_method"), "S256");
            let challenge = away.parameter("code_challenge");
            assert_eq!(challenge.len(), 43);
            assert!(seen.insert(challenge));
            assert!(seen.insert(away.parameter("state")));
            if provider == Google {
                assert!(seen.insert(away.parameter("nonce")));
            }
        }
    }
}

#[tokio::test]
async fn b03_both_providers_get_the_verifier_of_their_own_challenge() {
    let stage = Stage::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let away = stage.depart(provider, key).await;
        away.back("code=4/0A-code").await;
        let form = stage.script(provider).calls_to(TOKEN)[0].form();
        let verifier: contract::CodeVerifier = form["code_verifier"].parse().unwrap();
        assert_eq!(
            verifier.challenge().as_str(),
            away.parameter("code_challenge")
        );
        assert_eq!(form["redirect_uri"], away.parameter("redirect_uri"));
        assert_eq!(form["code"], "4/0A-code");
    }
}

#[tokio::test]
async fn b05_an_issuer_is_compared_exactly_with_a_code_and_with_an_error() {
    let stage = Stage::start().await;
    let (google, github) = (stage.google.url(), stage.github.url());
    let own = |provider| match provider {
        Google => google.clone(),
        GitHub => format!("{github}/login/oauth"),
    };
    for provider in Provider::ALL {
        let right = own(provider);
        for iss in [
            format!("iss={}", right.replace("http:", "HTTP:")),
            format!("iss={right}/"),
            format!("iss={}", right.trim_start_matches("http://")),
            "iss=accounts.google.com".to_owned(),
            "iss=https://accounts.google.com".to_owned(),
            format!(
                "iss={}",
                own(if provider == Google { GitHub } else { Google })
            ),
            "iss=".to_owned(),
            format!("iss={right}&iss={right}"),
        ] {
            for rest in ["code=a-code", "error=access_denied"] {
                let away = stage.depart_legacy(provider).await;
                let home = away.back(&format!("{rest}&{iss}")).await;
                home.redirects_to(&legacy_home("invalid_provider_response"));
            }
        }
        assert!(stage.script(provider).calls_to(TOKEN).is_empty());
        let away = stage.depart_legacy(provider).await;
        let home = away.back(&format!("error=access_denied&iss={right}")).await;
        home.redirects_to(&legacy_home("access_denied"));
        let away = stage.depart_legacy(provider).await;
        let home = away.back(&format!("code=a-code&iss={right}")).await;
        assert!(parameter(home.location().unwrap(), "code").is_some());
    }
}

#[tokio::test]
async fn b06_an_answer_counts_only_on_the_path_of_its_own_provider() {
    let stage = Stage::start().await;
    for (provider, other) in [(Google, GitHub), (GitHub, Google)] {
        let away = stage.depart_legacy(provider).await;
        let crossed = away
            .back_path("code=a-code")
            .replace(provider.as_str(), other.as_str());
        away.get(&crossed)
            .await
            .is_refusal_page(400, "upstream_login.own_browser");
    }
    assert!(stage.google.calls_to(TOKEN).is_empty() && stage.github.calls().is_empty());
}

#[tokio::test]
async fn b07_whatever_else_comes_along_is_ignored() {
    let stage = Stage::start().await;
    let junk: String = (0..20)
        .map(|n| format!("&future{n}=%F0%9F%A6%80{n}"))
        .collect();
    let known = "&scope=email+openid&authuser=0&prompt=none&hd=corp.example&hd=again";
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let away = stage.depart(provider, key).await;
        away.back(&format!("code=a-code{known}{junk}")).await;
        assert!(stage.outcome(key).await.is_ok());
    }
}

#[tokio::test]
async fn b08_a_callback_without_one_usable_code_asks_nobody() {
    let stage = Stage::start().await;
    let long = format!("code={}", "a".repeat(2049));
    for provider in Provider::ALL {
        for query in [
            "code=a&error=access_denied",
            "x=y",
            "code=",
            "error=",
            "code=a&code=b",
            "code=%00",
            "code=a%0d%0ab",
            "code=%7f",
            &long,
        ] {
            let away = stage.depart_legacy(provider).await;
            let home = away.back(query).await;
            home.redirects_to(&legacy_home("invalid_provider_response"));
        }
        assert!(stage.script(provider).calls_to(TOKEN).is_empty());
    }
}

/// A bad escape is whatever characters it consists of, here as in browsers.
#[tokio::test]
async fn b08_a_code_with_a_bad_escape_is_passed_on_as_it_came() {
    let stage = Stage::start().await;
    let away = stage.depart(GitHub, 1).await;
    away.back("code=a%zz%").await.redirects_to(CALLBACK);
    assert_eq!(stage.github.calls_to(TOKEN)[0].form()["code"], "a%zz%");
}

#[tokio::test]
async fn b10_what_a_provider_says_in_words_is_repeated_to_nobody() {
    let stage = Stage::start().await;
    let words = "<script>alert(1)</script>";
    let says = format!("error_description={words}&error_uri=https://evil.test/{words}");
    let away = stage.depart(GitHub, 1).await;
    away.back(&format!("error={words}&{says}"))
        .await
        .redirects_to(CALLBACK);
    assert_eq!(stage.outcome(1).await, is("invalid_provider_response"));
    let body = json!({ "error": words, "error_description": words, "error_uri": words });
    stage.github.replies(TOKEN, Reply::json(&body));
    assert_eq!(
        stage.sign_in(GitHub, 2).await,
        is("invalid_provider_response")
    );
    let away = stage.depart_legacy(GitHub).await;
    let home = away.back(&format!("error=access_denied&{says}")).await;
    home.redirects_to(&legacy_home("access_denied"));
    // Nor on the page of somebody who has no upstream login.
    let page = stage.world.browser().get(&away.back_path(&says)).await;
    page.is_refusal_page(400, "upstream_login.own_browser");
    assert!(!page.text().contains("script>") && !page.text().contains("evil.test"));
    let audit = format!("{:?}", stage.world.events());
    assert!(!audit.contains("script>") && !audit.contains("evil.test"));
}

#[tokio::test]
async fn b19_google_is_asked_for_no_more_than_discovery_keys_and_tokens() {
    let stage = Stage::start().await;
    for key in 1..=3 {
        assert!(stage.sign_in(Google, key).await.is_ok());
    }
    let calls = stage.google.calls();
    let paths: HashSet<_> = calls.iter().map(super::script::Call::path).collect();
    assert_eq!(paths, HashSet::from([super::stage::DISCOVERY, KEYS, TOKEN]));
    assert_eq!(calls.len(), 1 + 1 + 3);
}

#[tokio::test]
async fn b26_no_more_is_asked_for_than_a_profile_needs() {
    let stage = Stage::start().await;
    let scopes = [
        (Google, "openid email profile"),
        (GitHub, "read:user user:email"),
    ];
    for (provider, scope) in scopes {
        let away = stage.depart_legacy(provider).await;
        assert_eq!(away.parameter("scope"), scope);
        let url = away.departure.location().unwrap();
        for word in [
            "access_type",
            "include_granted_scopes",
            "offline",
            "response_mode",
        ] {
            assert!(!url.contains(word), "{url}");
        }
    }
}

#[tokio::test]
async fn b27_a_providers_token_goes_back_to_that_provider_and_nowhere_else() {
    let stage = Stage::start().await;
    assert!(stage.sign_in(GitHub, 1).await.is_ok());
    let holders: Vec<_> = stage.github.calls();
    let bearers: Vec<_> = holders
        .iter()
        .filter(|call| call.head.contains(&ACCESS_TOKEN.to_lowercase()))
        .map(|call| call.path().to_owned())
        .collect();
    assert_eq!(bearers, [USER, EMAILS]);
    assert_eq!(holders.len(), 3, "and none to revoke it");
    assert!(stage.sign_in(Google, 2).await.is_ok());
    for call in stage.google.calls() {
        assert!(!format!("{call:?}").contains(ACCESS_TOKEN));
    }
    assert!(!format!("{:?}", stage.world.events()).contains(ACCESS_TOKEN));
}

#[tokio::test]
async fn b28_two_logins_in_one_browser_end_in_either_order() {
    let stage = Stage::start().await;
    let browser = stage.world.browser();
    let mut ways = Vec::new();
    for provider in [GitHub, Google, GitHub] {
        let path = authorize_path().replace("github", provider.as_str());
        let away = browser.get(&path).await;
        let state = parameter(away.location().unwrap(), "state").unwrap();
        ways.push(format!(
            "/callback/{provider}?error=access_denied&state={state}"
        ));
    }
    for way in [&ways[1], &ways[2], &ways[0]] {
        browser
            .get(way)
            .await
            .redirects_to(&legacy_home("access_denied"));
    }
}

/// `goes_to` checks the rest: a 303 without a body, under every header of ours.
#[tokio::test]
async fn b29_a_callback_is_answered_by_nothing_but_the_way_home() {
    let stage = Stage::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        let away = stage.depart(provider, key).await;
        let home = away.back("code=a-code").await;
        home.redirects_to(CALLBACK);
        assert_eq!(home.header("cache-control"), Some("no-store"));
        assert_eq!(home.header("referrer-policy"), Some("no-referrer"));
        let again = away.back("code=a-code").await;
        again.redirects_to(CALLBACK);
    }
}
