//! The error map, row by row: the failure, the error that the consumer reads, the entry
//! of the audit log, and the redirect of the browser to the consumer in both flows. Each
//! cause is a function that brings a failure about, in both flows if it can, and checks what
//! the browser, the consumer and the audit log get.

use std::collections::HashSet;
use std::num::NonZeroU32;

use broker::audit::Party;
use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::upstream::Failure;
use contract::Provider::{self, GitHub, Google};
use rocket::futures::future::join_all;
use serde_json::{Value, json};

use super::keys::token_by;
use super::{
    DISCOVERY, FakeProviders, KEYS, StartedLogin, adas_claims, discovery_document, failed_with,
    legacy_error, token,
};
use crate::fake_provider::{
    CERTIFICATE, CERTIFICATE_KEY, EMAILS, FakeProvider, Reply, TOKEN, USER,
};
use crate::installation::Scratch;
use crate::test_broker::{CALLBACK, github_config, with};

/// Each line is a row of the map, its error, the name of its test, and its cause.
macro_rules! rows {
    ($($failure:ident is $error:ident: $name:ident => $how:ident($($what:expr),*);)+) => {
        $(#[tokio::test]
        async fn $name() {
            assert_eq!(Failure::$failure.error().as_str(), stringify!($error));
            $how(Failure::$failure, $($what),*).await;
        })+

        /// `redirects_to` checks the rest: a 303 without a body, with all of our headers.
        // Threats: B9, B29, B30.
        #[test]
        fn every_row_of_the_error_map_has_a_test() {
            let tested = HashSet::from([$(Failure::$failure),+]);
            let rows: HashSet<_> = Failure::ALL.iter().copied().collect();
            assert_eq!(tested, rows);
        }
    };
}

rows! {
    // Threats: B9.
    Declined is access_denied: a_user_who_declines => callback("error=access_denied");
    CallbackServerError is provider_unavailable: a_server_error_in_the_callback => callback("error=server_error");
    CallbackServerError is provider_unavailable: a_provider_that_is_unavailable_for_a_time => callback("error=temporarily_unavailable");
    CallbackSuspended is provider_unavailable: a_suspended_application_in_the_callback => callback("error=application_suspended");
    CallbackError is invalid_provider_response: any_other_error_in_the_callback => callback("error=invalid_scope");
    CallbackIssuer is invalid_provider_response: another_issuers_callback => callback("code=a&iss=https://evil.test");
    CallbackCode is invalid_provider_response: a_callback_without_a_code => callback("x=y");

    NotConfigured is provider_unavailable: a_provider_that_is_no_longer_configured => no_longer_configured();
    Disabled is provider_unavailable: a_provider_that_is_disabled => disabled();
    OwnCredentials is provider_unavailable: wrong_client_credentials_with_any_status => our_credentials();

    TooManyCalls is provider_unavailable: too_many_calls_in_flight => with_too_many_calls();
    Timeout is provider_unavailable: a_provider_that_is_silent => github_within_200_ms(TOKEN, Reply::Silence);
    Unreachable is provider_unavailable: an_unreachable_provider => github_at("http://127.0.0.1:1".to_owned());
    // Threats: B12.
    Untrusted is provider_unavailable: a_provider_with_an_untrusted_certificate => github_with_an_untrusted_certificate();
    ConnectionBroken is provider_unavailable: a_provider_that_closes_the_connection => both_alike(TOKEN, Reply::Close);
    RateLimited is provider_unavailable: a_provider_that_limits_our_rate => both_alike(TOKEN, Reply::of(429, HTML, "slow down"));
    ServerError is provider_unavailable: a_provider_with_an_internal_error => both_alike(TOKEN, Reply::of(502, HTML, "<h1>Bad gateway</h1>"));

    Redirected is invalid_provider_response: a_redirect => both_alike(TOKEN, Reply::of(302, HTML, "").with("Location", "/"));
    Refused is invalid_provider_response: a_refusal_without_reason => both_alike(TOKEN, Reply::of(404, HTML, "not found"));
    TooLarge is invalid_provider_response: an_answer_of_300_kb => both_alike(TOKEN, Reply::of(200, JSON, " ".repeat(300 * 1024)));
    Encoded is invalid_provider_response: a_compressed_answer => both_alike(TOKEN, Reply::of(200, JSON, GZIP).with("Content-Encoding", "gzip"));
    NotJson is invalid_provider_response: an_answer_in_html => both_alike(TOKEN, Reply::of(200, HTML, "{}"));
    Malformed is invalid_provider_response: an_answer_that_is_cut_off => both_alike(TOKEN, Reply::of(200, JSON, r#"{"access_tok"#));

    CodeRefused is invalid_provider_response: a_code_that_is_refused => both(
        TOKEN,
        Reply::of(400, JSON, r#"{"error":"invalid_grant","error_description":"Bad Request"}"#),
        Reply::of(200, JSON, r#"{"error":"bad_verification_code"}"#)
    );
    TokenType is invalid_provider_response: a_token_of_another_type => github(
        TOKEN,
        Reply::of(200, JSON, r#"{"access_token":"a","token_type":"mac"}"#)
    );

    Document is provider_unavailable: discovery_in_html => google(DISCOVERY, Reply::of(200, HTML, "<p>Sign in to the network"));
    DocumentIssuer is provider_unavailable: discovery_of_another_issuer => discovery("issuer", "https://accounts.google.com");
    TooManySearches is provider_unavailable: too_many_unknown_keys => with_too_many_unknown_keys();
    DocumentHost is provider_unavailable: discovery_that_leads_elsewhere => discovery("token_endpoint", "http://127.0.0.1:1/token");

    IdTokenShape is invalid_provider_response: an_id_token_of_another_shape => id_token(|_, _| "a.b.c".to_owned());
    IdTokenAlgorithm is invalid_provider_response: an_id_token_of_another_algorithm => header(json!({ "alg": "RS512", "kid": "one" }));
    IdTokenExtension is invalid_provider_response: an_id_token_with_an_extension => header(
        json!({ "alg": "RS256", "kid": "one", "crit": ["exp"] })
    );
    // Threats: B17.
    IdTokenNoKey is invalid_provider_response: an_id_token_without_a_key => header(json!({ "alg": "RS256" }));
    IdTokenUnknownKey is invalid_provider_response: an_id_token_of_an_unknown_key => header(json!({ "alg": "RS256", "kid": "two" }));
    IdTokenSignature is invalid_provider_response: an_id_token_that_was_changed => id_token(|header, claims| {
        let (good, other) = (token(header, claims), token(header, &json!({})));
        let signature = other.rsplit('.').next().unwrap();
        format!("{}.{signature}", good.rsplit_once('.').unwrap().0)
    });
    IdTokenNonce is invalid_provider_response: another_logins_nonce => claim("nonce", json!("another"));
    IdTokenIssuer is invalid_provider_response: an_id_token_of_another_issuer => claim("iss", json!("https://evil.test"));
    IdTokenAudience is invalid_provider_response: an_id_token_for_another_client => claim("aud", json!("them"));
    IdTokenParty is invalid_provider_response: an_id_token_issued_to_another_party => claim("azp", json!("them"));
    IdTokenExpired is invalid_provider_response: an_id_token_that_has_expired => claim("exp", json!(1_000_000));
    IdTokenEarly is invalid_provider_response: an_id_token_from_the_future => claim("iat", json!(99_999_999_999_i64));
    IdTokenAccess is invalid_provider_response: an_id_token_of_another_access_token => claim("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA"));
    IdTokenSubject is invalid_provider_response: an_id_token_without_a_subject => claim("sub", json!(""));
}

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
/// `{}`, by gzip.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";

/// The row does not depend on the call that failed.
#[tokio::test]
async fn b09_the_error_map_applies_to_every_call_of_a_login() {
    let html = |status| Reply::of(status, HTML, "");
    let limit = |body: &str| Reply::of(403, JSON, body);
    let secondary = r#"{"message":"You have exceeded a secondary rate limit. Please wait."}"#;
    let none_left = limit("{}").with("x-ratelimit-remaining", "0");
    for (failure, reply) in [
        (Failure::RateLimited, html(429)),
        (Failure::RateLimited, none_left),
        (Failure::RateLimited, limit("{}").with("retry-after", "60")),
        (Failure::RateLimited, limit(secondary)),
        (Failure::ServerError, html(500)),
        (Failure::ConnectionBroken, Reply::Close),
        (Failure::NotJson, html(200)),
        (Failure::Malformed, Reply::of(200, JSON, "")),
        (Failure::Refused, Reply::of(401, JSON, "{}")),
        (Failure::Refused, limit("{}")),
    ] {
        for path in [TOKEN, USER, EMAILS] {
            // Without permission to read addresses, the user signs in without one.
            if failure != Failure::Refused || path != EMAILS {
                github(failure, path, reply.clone()).await;
            }
        }
    }
    github(Failure::Refused, EMAILS, Reply::of(401, JSON, "{}")).await;
    let too_large = Reply::of(200, JSON, " ".repeat(300 * 1024));
    for (failure, reply) in [
        (Failure::RateLimited, html(429)),
        (Failure::ServerError, html(503)),
        (Failure::ConnectionBroken, Reply::Close),
        (Failure::Document, html(200)),
        (Failure::Document, Reply::of(404, JSON, "{}")),
        (Failure::Document, html(302).with("Location", "/")),
        (Failure::Document, too_large),
        (Failure::Document, Reply::of(200, JSON, "{}")),
    ] {
        for path in [DISCOVERY, KEYS] {
            google(failure, path, reply.clone()).await;
        }
    }
}

#[tokio::test]
async fn b14_an_error_inside_http_200_is_a_failure_in_any_form() {
    for error in [
        json!("bad_verification_code"),
        json!("an_error_of_tomorrow"),
        json!(""),
        json!(1),
    ] {
        // A token beside it changes nothing.
        let body = json!({ "error": error, "access_token": "a", "token_type": "bearer" });
        github(Failure::CodeRefused, TOKEN, Reply::json(&body)).await;
    }
    let media_type = "application/x-www-form-urlencoded; charset=utf-8";
    let form = "error=bad_verification_code&access_token=a&token_type=bearer";
    github(Failure::NotJson, TOKEN, Reply::of(200, media_type, form)).await;
    // A token that no header can carry, and parsers differ in which of two members they read.
    for access_token in ["", "a b", "a\r\nHost: evil.test", "ä", &"a".repeat(2049)] {
        let body = json!({ "access_token": access_token, "token_type": "bearer" });
        github(Failure::Malformed, TOKEN, Reply::json(&body)).await;
    }
    let twice = Reply::of(200, JSON, r#"{"id":1,"login":"ada","id":2}"#);
    github(Failure::Malformed, USER, twice).await;
}

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

async fn callback(failure: Failure, query: &str) {
    for provider in Provider::ALL {
        let providers = FakeProviders::start().await;
        check(failure, &providers, provider, |_| (), query).await;
        assert!(providers.get(provider).calls_to(TOKEN).is_empty());
    }
}

async fn github(failure: Failure, path: &str, reply: Reply) {
    let providers = FakeProviders::start().await;
    providers.github.set_reply(path, reply);
    check(failure, &providers, GitHub, |_| (), "code=a").await;
}

async fn google(failure: Failure, path: &'static str, reply: Reply) {
    let providers = FakeProviders::start().await;
    providers.google.set_reply(path, reply.clone());
    let again = |_: &StartedLogin<'_>| providers.google.set_reply(path, reply.clone());
    check(failure, &providers, Google, again, "code=a").await;
}

async fn both(failure: Failure, path: &'static str, googles: Reply, githubs: Reply) {
    google(failure, path, googles).await;
    github(failure, path, githubs).await;
}

async fn our_credentials(failure: Failure) {
    for status in [200, 400, 401, 403, 404, 422, 429, 503] {
        let error = |error| Reply::of(status, JSON, json!({ "error": error }).to_string());
        let (google, github) = ("invalid_client", "incorrect_client_credentials");
        both(failure, TOKEN, error(google), error(github)).await;
    }
}

async fn both_alike(failure: Failure, path: &'static str, reply: Reply) {
    both(failure, path, reply.clone(), reply).await;
}

async fn github_within_200_ms(failure: Failure, path: &str, reply: Reply) {
    let providers = FakeProviders::start_with(|config| config.upstream.timeout_ms = 200).await;
    providers.github.set_reply(path, reply);
    check(failure, &providers, GitHub, |_| (), "code=a").await;
}

/// With one call at a time and a provider that is silent, one of three logins gives up
/// before its call is made.
async fn with_too_many_calls(failure: Failure) {
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
async fn with_too_many_unknown_keys(failure: Failure) {
    let providers = FakeProviders::start_with_fixed_clock().await;
    for n in 0..30 {
        let id = format!("unknown{n}");
        let result = providers.log_in_by(token_by(&id)).await;
        assert_eq!(result.unwrap_err(), "invalid_provider_response");
    }
    let one_more = token_by("one more");
    let arrange = |login: &StartedLogin<'_>| login.google_returns_token(&one_more(login));
    check(failure, &providers, Google, arrange, "code=a").await;
}

async fn github_at(failure: Failure, url: String) {
    let providers =
        FakeProviders::start_with(|config| config.upstream.github = Some(github_config(&url)))
            .await;
    check(failure, &providers, GitHub, |_| (), "code=a").await;
    assert!(providers.github.calls().is_empty());
}

/// A server with a certificate that no authority signed.
async fn github_with_an_untrusted_certificate(failure: Failure) {
    let server = FakeProvider::start_with_tls(CERTIFICATE, CERTIFICATE_KEY).await;
    github_at(failure, server.url()).await;
}

async fn discovery(failure: Failure, member: &str, value: &str) {
    let providers = FakeProviders::start().await;
    let document = with(discovery_document(&providers.google.url()), member, value);
    let google = &providers.google;
    google.set_reply(DISCOVERY, Reply::json(&document));
    check(failure, &providers, Google, |_| (), "code=a").await;
    assert_eq!(google.calls().len(), google.calls_to(DISCOVERY).len());
}

async fn id_token(failure: Failure, make: impl Fn(&Value, &Value) -> String) {
    let providers = FakeProviders::start().await;
    let header = json!({ "alg": "RS256", "kid": "one" });
    let arrange =
        |login: &StartedLogin<'_>| login.google_returns_token(&make(&header, &adas_claims(login)));
    check(failure, &providers, Google, arrange, "code=a").await;
}

async fn header(failure: Failure, header: Value) {
    id_token(failure, |_, claims| token(&header, claims)).await;
}

async fn claim(failure: Failure, name: &str, value: Value) {
    let changed = |claims: &Value| with(claims.clone(), name, value.clone());
    id_token(failure, |header, claims| token(header, &changed(claims))).await;
}

/// A user returns from the provider to a broker whose configuration has it no longer.
async fn no_longer_configured(failure: Failure) {
    let keyed = |config: &mut Config| config.cookie_keys = vec![CookieKey::from_random(&[9; 32])];
    let before = FakeProviders::start_with(keyed).await;
    let login = before.start_legacy_login(GitHub).await;
    let after = FakeProviders::start_with(|config| {
        keyed(config);
        config.upstream.github = None;
    })
    .await;
    let browser = after.broker.browser();
    for (name, value) in login.browser.cookies() {
        browser.add_cookie(&name, &value);
    }
    let response = browser.get(&login.callback_path("code=a")).await;
    response.redirects_to(&legacy_error(failure.error().as_str()));
    assert_eq!(after.last_failure(), Some(failure.why()));
    assert!(after.github.calls().is_empty());
}

/// A login session was opened while the provider was enabled. Its browser visits a
/// broker where the provider is disabled.
async fn disabled(failure: Failure) {
    let scratch = Scratch::new();
    let store = || broker::store::StoreUrl::SqliteFile(scratch.file("broker.db"));
    let before = FakeProviders::start_with(|config| config.store.url = store()).await;
    let path = before.broker.session(1).await;
    let after = FakeProviders::start_with(|config| {
        config.store.url = store();
        config.upstream.github.as_mut().unwrap().enabled = false;
    })
    .await;
    let refused = after.broker.browser().get(&path).await;
    refused.redirects_to(CALLBACK);
    assert_eq!(after.result(1).await, failed_with(failure.error().as_str()));
    assert_eq!(after.last_failure(), Some(failure.why()));
}
