//! The causes of failures: each function brings one about, in both flows if it can, and
//! checks what the browser, the consumer and the audit log get.

use std::num::NonZeroU32;

use broker::audit::Party;
use broker::cookie_cipher::CookieKey;
use broker::upstream::Failure;
use contract::Provider::{self, GitHub, Google};
use rocket::config::TlsConfig;
use rocket::futures::future::join_all;
use serde_json::{Value, json};

use super::super::{
    DISCOVERY, FakeProviders, Reply, StartedLogin, TOKEN, adas_claims, discovery_document,
    failed_with, github_config, legacy_error, token,
};
use crate::slow_github::SlowGitHub;
use crate::test_broker::CALLBACK;

/// Runs both flows and checks the redirect, the result and the audit log.
async fn check(
    failure: Failure,
    providers: &FakeProviders,
    provider: Provider,
    arrange: impl Fn(&StartedLogin<'_>),
    query: &str,
) {
    let error = failure.error().as_str();
    for legacy in [false, true] {
        let login = if legacy {
            providers.start_legacy_login(provider).await
        } else {
            providers.start_login(provider, 1).await
        };
        // A browser that did not reach the provider may still have a fragment.
        let (response, end) = if login.is_at_provider() {
            arrange(&login);
            (login.return_with(query).await, "")
        } else {
            (login.redirect, "#")
        };
        if legacy {
            response.redirects_to(&(legacy_error(error) + end));
        } else {
            response.redirects_to(CALLBACK);
            assert_eq!(providers.result(1).await, failed_with(error));
        }
        assert_eq!(providers.last_failure(), Some(failure.why()), "{provider}");
    }
}

pub(super) async fn callback(failure: Failure, query: &str) {
    for provider in Provider::ALL {
        let providers = FakeProviders::start().await;
        check(failure, &providers, provider, |_| (), query).await;
        assert!(providers.get(provider).calls_to(TOKEN).is_empty());
    }
}

pub(super) async fn github(failure: Failure, path: &str, reply: Reply) {
    let providers = FakeProviders::start().await;
    providers.github.set_reply(path, reply);
    check(failure, &providers, GitHub, |_| (), "code=a").await;
}

pub(super) async fn google(failure: Failure, path: &'static str, reply: Reply) {
    let providers = FakeProviders::start().await;
    providers.google.set_reply(path, reply.clone());
    let again = |_: &StartedLogin<'_>| providers.google.set_reply(path, reply.clone());
    check(failure, &providers, Google, again, "code=a").await;
}

pub(super) async fn both(failure: Failure, path: &'static str, googles: Reply, githubs: Reply) {
    google(failure, path, googles).await;
    github(failure, path, githubs).await;
}

pub(super) async fn both_alike(failure: Failure, path: &'static str, reply: Reply) {
    both(failure, path, reply.clone(), reply).await;
}

pub(super) async fn github_within_200_ms(failure: Failure, path: &str, reply: Reply) {
    let providers = FakeProviders::start_with(|config| config.upstream.timeout_ms = 200).await;
    providers.github.set_reply(path, reply);
    check(failure, &providers, GitHub, |_| (), "code=a").await;
}

/// With one call at a time and a provider that is silent, one of three logins gives up
/// before its call is made.
pub(super) async fn with_too_many_calls(failure: Failure) {
    let providers = FakeProviders::start_with(|config| {
        config.upstream.timeout_ms = 2_000;
        config.limits.upstream_calls = NonZeroU32::MIN;
    })
    .await;
    providers.github.set_reply(TOKEN, Reply::Silence);
    let results = join_all((0..3).map(|_| providers.log_in(GitHub))).await;
    let expected = Err(failure.error().as_str().to_owned());
    assert_eq!(results, [expected.clone(), expected.clone(), expected]);
    let calls = providers.github.calls_to(TOKEN).len();
    assert_eq!(calls, 2, "one was never made");
    let events = providers.broker.events();
    let upstream = events.iter().filter(|it| it.to == Party::Provider(GitHub));
    let failed = upstream.filter(|it| it.why == Some(failure.why()));
    assert_eq!(failed.count(), 1);
}

/// An ID token with a key that was never looked for, after 30 others.
pub(super) async fn with_too_many_unknown_keys(failure: Failure) {
    let providers = FakeProviders::start_with_fixed_clock().await;
    let by = |id: String| {
        move |login: &StartedLogin<'_>| {
            token(&json!({ "alg": "RS256", "kid": id }), &adas_claims(login))
        }
    };
    for n in 0..30 {
        let result = providers.log_in_by(by(format!("unknown{n}"))).await;
        assert_eq!(result.unwrap_err(), "invalid_provider_response");
    }
    let one_more = by("one more".to_owned());
    let arrange = |login: &StartedLogin<'_>| login.google_returns_token(&one_more(login));
    check(failure, &providers, Google, arrange, "code=a").await;
}

pub(super) async fn github_at(failure: Failure, url: String) {
    let providers =
        FakeProviders::start_with(|config| config.upstream.github = Some(github_config(&url)))
            .await;
    check(failure, &providers, GitHub, |_| (), "code=a").await;
    assert!(providers.github.calls().is_empty());
}

/// A server with a certificate that no authority signed.
pub(super) async fn github_with_an_untrusted_certificate(failure: Failure) {
    let tls = TlsConfig::from_bytes(
        include_bytes!("../keys/tls-cert.pem"),
        include_bytes!("../keys/tls-key.pem"),
    );
    let server = SlowGitHub::start_with(Some(tls)).await;
    github_at(failure, server.url().to_owned()).await;
}

pub(super) async fn discovery(failure: Failure, member: &str, value: &str) {
    let providers = FakeProviders::start().await;
    let mut document = discovery_document(&providers.google.url());
    document[member] = value.into();
    providers
        .google
        .set_reply(DISCOVERY, Reply::json(&document));
    check(failure, &providers, Google, |_| (), "code=a").await;
    let calls = providers.google.calls();
    assert!(
        calls.iter().all(|call| call.path() == DISCOVERY),
        "{calls:?}"
    );
}

pub(super) async fn id_token(failure: Failure, make: impl Fn(&Value, &Value) -> String) {
    let providers = FakeProviders::start().await;
    let header = json!({ "alg": "RS256", "kid": "one" });
    let arrange =
        |login: &StartedLogin<'_>| login.google_returns_token(&make(&header, &adas_claims(login)));
    check(failure, &providers, Google, arrange, "code=a").await;
}

pub(super) async fn header(failure: Failure, header: Value) {
    id_token(failure, |_, claims| token(&header, claims)).await;
}

pub(super) async fn claim(failure: Failure, name: &str, value: Value) {
    id_token(failure, |header, claims| {
        let mut claims = claims.clone();
        claims[name] = value.clone();
        token(header, &claims)
    })
    .await;
}

/// Starts an upstream login, and returns from the provider to a broker whose
/// configuration is changed.
async fn return_to_a_changed_broker(
    failure: Failure,
    change: impl Fn(&mut broker::config::Config),
) {
    let key = || vec![CookieKey::from_random(&[9; 32])];
    let before = FakeProviders::start_with(|config| config.cookie_keys = key()).await;
    let login = before.start_legacy_login(GitHub).await;
    let after = FakeProviders::start_with(|config| {
        config.cookie_keys = key();
        change(config);
    })
    .await;
    let browser = after.broker.browser();
    for (name, value) in login.cookies() {
        browser.add_cookie(&name, &value);
    }
    let response = browser.get(&login.callback_path("code=a")).await;
    response.redirects_to(&legacy_error(failure.error().as_str()));
    assert_eq!(after.last_failure(), Some(failure.why()));
    assert!(after.github.calls().is_empty());
}

pub(super) async fn no_longer_configured(failure: Failure) {
    return_to_a_changed_broker(failure, |config| config.upstream.github = None).await;
}

/// A login session was opened while the provider was enabled. Its browser visits a
/// broker where the provider is disabled.
pub(super) async fn disabled(failure: Failure) {
    let scratch = crate::scratch::Scratch::new();
    let store = || broker::store::StoreUrl::SqliteFile(scratch.file("broker.db"));
    let before = FakeProviders::start_with(|config| config.store.url = store()).await;
    let path = before.broker.session(1).await;
    let after = FakeProviders::start_with(|config| {
        config.store.url = store();
        config.upstream.github.as_mut().unwrap().enabled = false;
    })
    .await;
    after
        .broker
        .browser()
        .get(&path)
        .await
        .redirects_to(CALLBACK);
    assert_eq!(after.result(1).await, failed_with(failure.error().as_str()));
    assert_eq!(after.last_failure(), Some(failure.why()));
}
