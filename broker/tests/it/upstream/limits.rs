//! A provider that answers slowly, hugely, with a redirect, or not at all; its availability,
//! which depends on the last complete upstream login; and many logins at once.

use std::num::NonZeroU32;
use std::time::Duration;

use broker::upstream::Failure;
use contract::Provider::{self, GitHub, Google};
use rocket::futures::future::join_all;
use serde_json::json;

use super::{DISCOVERY, FakeProviders, KEYS, discovery_document, failed_with, server_error};
use crate::fake_provider::{
    EMAILS, ENDLESS_BYTES, FakeProvider, Reply, TOKEN, USER, adas_github_user, github_token,
};
use crate::test_broker::{CALLBACK, github_config, with};

const UNAVAILABLE: &str = "provider_unavailable";

/// Every call that a login makes, with its provider, and the error if its response cannot
/// be used.
const CALLS: [(Provider, &str, &str); 6] = [
    (Google, DISCOVERY, UNAVAILABLE),
    (Google, KEYS, UNAVAILABLE),
    (Google, TOKEN, "invalid_provider_response"),
    (GitHub, TOKEN, "invalid_provider_response"),
    (GitHub, USER, "invalid_provider_response"),
    (GitHub, EMAILS, "invalid_provider_response"),
];

async fn within_ms(timeout_ms: u64) -> FakeProviders {
    FakeProviders::start_with(|config| config.upstream.timeout_ms = timeout_ms).await
}

#[tokio::test]
async fn b11_a_code_is_exchanged_once_even_if_its_response_is_lost() {
    for provider in Provider::ALL {
        for reply in [
            Reply::Close,
            Reply::Silence,
            Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Le".to_vec()),
            Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{".to_vec()),
            Reply::Raw(b"what is HTTP?".to_vec()),
        ] {
            let providers = within_ms(1_000).await;
            let result = providers.log_in_with(provider, TOKEN, &reply).await;
            assert_eq!(result.unwrap_err(), UNAVAILABLE, "{reply:?}");
            assert_eq!(providers.get(provider).calls_to(TOKEN).len(), 1);
        }
        // On a reused connection that is closed, an HTTP client may assume that the request
        // was not processed, and send it again.
        let providers = FakeProviders::start().await;
        assert!(providers.log_in(provider).await.is_ok());
        let result = providers.log_in_with(provider, TOKEN, &Reply::Close).await;
        assert_eq!(result.unwrap_err(), UNAVAILABLE);
        assert_eq!(providers.get(provider).calls_to(TOKEN).len(), 2);
    }
}

/// Checks that a login fails with this error, or with that of the call, if the usual reply to
/// one of its calls is changed. No call asks for a compressed response.
async fn check_each_call(other_error: Option<&str>, change: impl Fn(Reply) -> Reply) {
    for (provider, path, error) in CALLS {
        let providers = FakeProviders::start().await;
        let result = providers.log_in_where(provider, path, &change).await;
        let calls = providers.get(provider).calls();
        assert_eq!(result.unwrap_err(), other_error.unwrap_or(error), "{path}");
        let asks = calls.iter().any(|it| it.head.contains("accept-encoding"));
        assert!(!calls.is_empty() && !asks, "{calls:?}");
    }
}

// Threats: A42.
#[tokio::test]
async fn b12_no_call_follows_a_redirect() {
    let elsewhere = FakeProvider::start().await;
    for status in [301, 302, 303, 307, 308] {
        let redirect = Reply::of(status, "application/json", "{}");
        let redirect = redirect.with("Location", &elsewhere.url());
        check_each_call(None, |_| redirect.clone()).await;
    }
    assert!(elsewhere.calls().is_empty());
}

/// Checks that a login fails if a member of Google's discovery document has one of these
/// values. `OWN` stands for the configured issuer, `UPPER` for it with a scheme in capitals.
async fn check_discovery(member: &str, values: &[&str]) {
    for value in values {
        let providers = FakeProviders::start().await;
        let own = providers.google.url();
        let upper = own.replace("http:", "HTTP:");
        let value = value.replace("OWN", &own).replace("UPPER", &upper);
        let reply = Reply::json(&with(discovery_document(&own), member, &*value));
        let result = providers.log_in_with(Google, DISCOVERY, &reply).await;
        assert_eq!(result.unwrap_err(), UNAVAILABLE, "{member} {value}");
    }
}

// Threats: A42.
#[tokio::test]
async fn b12_a_discovery_document_cannot_send_browsers_or_secrets_to_another_host() {
    let elsewhere = FakeProvider::start().await;
    let path = format!("{}/path", elsewhere.url());
    let user = format!("http://user@{}/", elsewhere.address);
    let google = "https://oauth2.googleapis.com/token";
    let others = [
        &path,
        &user,
        google,
        "javascript:alert(1)",
        "//evil.test/",
        "",
    ];
    for member in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        check_discovery(member, &others).await;
    }
    assert!(elsewhere.calls().is_empty());
}

/// The documents, whose issuer is compared exactly.
#[tokio::test]
async fn b21_a_discovery_document_counts_only_with_the_configured_issuer() {
    let others = ["https://accounts.google.com", "", "OWN/", "UPPER", " OWN"];
    check_discovery("issuer", &others).await;
}

#[tokio::test]
async fn b12_calls_go_through_a_proxy_only_if_it_is_configured() {
    let proxy = FakeProvider::start().await;
    let url = proxy.url();
    let providers =
        FakeProviders::start_with(|config| config.upstream.proxy = url.try_into().unwrap()).await;
    // This proxy forwards nothing.
    assert!(providers.log_in(GitHub).await.is_err());
    let called = &proxy.calls()[0].line;
    let expected = format!("POST {}{TOKEN} ", providers.github.url());
    assert!(called.starts_with(&expected), "{called}");
    assert!(providers.github.calls().is_empty());
}

/// The broker hangs up on each. A response whose bytes keep coming never reaches a limit
/// on the time between two; of a huge one it has read the maximum and what the sockets hold.
#[tokio::test]
async fn b13_a_response_without_an_end_ends_within_the_budget_and_the_maximum() {
    for (provider, path, error) in CALLS {
        let slow = Reply::Endless(b" ", Duration::from_millis(10));
        let flood = Reply::Endless(&[b' '; 64 * 1024], Duration::from_nanos(1));
        for (reply, timeout_ms, error) in [
            (slow, 300, UNAVAILABLE),
            (Reply::Silence, 300, UNAVAILABLE),
            (flood, 600_000, error),
        ] {
            let providers = within_ms(timeout_ms).await;
            let result = providers.log_in_with(provider, path, &reply).await;
            assert_eq!(result.unwrap_err(), error, "{path}");
            let server = providers.get(provider);
            server.wait_for_hang_up().await;
            assert!(server.bytes_sent() < ENDLESS_BYTES);
        }
    }
}

#[tokio::test]
async fn b13_a_huge_head_is_not_read_to_its_end() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    bytes.resize(5_000_000, b'x');
    let reply = Reply::Raw(bytes);
    check_each_call(Some(UNAVAILABLE), |_| reply.clone()).await;
}

/// A body that is never decompressed cannot grow. One of another media type may be the page
/// of a captive portal, a sign-in form, or the error page of a proxy.
#[tokio::test]
async fn b13_a_response_that_is_compressed_or_not_declared_as_json_is_not_read() {
    let codings = ["gzip", "br", "zstd", "deflate", "identity, gzip", ""];
    let media_types = ["text/html", "text/plain", "application/jsonp", "", "json"];
    let codings = codings.map(|value| ("Content-Encoding", value));
    let media_types = media_types.map(|value| ("Content-Type", value));
    for (name, value) in codings.into_iter().chain(media_types) {
        check_each_call(None, |reply| reply.with(name, value)).await;
    }
}

#[tokio::test]
async fn the_media_type_of_json_may_have_capitals_and_parameters() {
    let providers = FakeProviders::start().await;
    let body = adas_github_user().to_string();
    for media_type in ["Application/JSON", "application/json ; charset=utf-8"] {
        let reply = Reply::of(200, media_type, body.clone());
        let result = providers.log_in_with(GitHub, USER, &reply).await;
        assert!(result.is_ok(), "{media_type}");
    }
}

/// An old document does not replace a new one that is wrong.
#[tokio::test]
async fn b21_a_later_discovery_document_of_another_issuer_ends_logins_too() {
    let providers = FakeProviders::start().await;
    assert!(providers.log_in(Google).await.is_ok());
    providers.broker.advance_ms(70_000);
    let document = discovery_document(&providers.google.url());
    let document = Reply::json(&with(document, "issuer", "https://evil.test"));
    providers.google.set_reply(DISCOVERY, document);
    let login = providers.start_login(Google, 2).await;
    login.redirect.redirects_to(CALLBACK);
    assert_eq!(providers.result(2).await, failed_with(UNAVAILABLE));
}

// Threats: B18.
#[tokio::test]
async fn a_provider_is_unavailable_from_a_failed_login_until_one_succeeds_or_for_five_minutes() {
    let providers = FakeProviders::start().await;
    let refused = Reply::json(&json!({ "error": "incorrect_client_credentials" }));
    for (provider, path, reply) in [
        (GitHub, TOKEN, Reply::of(500, "text/html", "")),
        (GitHub, TOKEN, refused),
        (Google, KEYS, server_error()),
    ] {
        assert!(providers.is_available(provider).await);
        let server = providers.get(provider);
        let usual = server.reply(path);
        assert!(providers.log_in_with(provider, path, &reply).await.is_err());
        for other in Provider::ALL {
            assert_eq!(providers.is_available(other).await, other != provider);
        }
        server.set_reply(path, usual);
        providers.broker.advance_ms(12_000);
        assert!(providers.log_in(provider).await.is_ok());
        assert!(providers.is_available(provider).await);
    }
    // No server listens there.
    let providers = FakeProviders::start_with(|config| {
        config.upstream.github = Some(github_config("http://127.0.0.1:1"));
    })
    .await;
    assert!(providers.log_in(GitHub).await.is_err());
    for (passes_ms, is_available) in [(290_000, false), (10_000, true)] {
        providers.broker.advance_ms(passes_ms);
        assert_eq!(providers.is_available(GitHub).await, is_available);
    }
}

/// Any client may start a login, and a browser may report any error.
#[tokio::test]
async fn an_incomplete_login_or_an_invalid_response_changes_nothing() {
    let providers = FakeProviders::start().await;
    providers.google.set_reply(DISCOVERY, server_error());
    let result = providers.log_in(Google).await;
    assert_eq!(result.unwrap_err(), "provider_unavailable");
    assert!(providers.is_available(Google).await);
    for (reply, is_available) in [
        (github_token(), true),
        (Reply::of(200, "text/html", ""), true),
        // A provider that failed stays unavailable until it works.
        (server_error(), false),
    ] {
        providers.github.set_reply(TOKEN, reply);
        let _ = providers.log_in(GitHub).await;
        for error in ["server_error", "temporarily_unavailable", "access_denied"] {
            let query = format!("error={error}");
            assert!(providers.return_with(GitHub, &query).await.is_err());
        }
        assert_eq!(providers.is_available(GitHub).await, is_available);
    }
    let calls = providers.github.calls().len();
    assert!(providers.is_available(Google).await);
    let after = providers.github.calls().len();
    assert_eq!(after, calls, "reading it calls no provider");
}

#[tokio::test]
async fn while_one_provider_hangs_users_sign_in_through_the_other() {
    for (hanging, path, working) in [(GitHub, TOKEN, Google), (Google, KEYS, GitHub)] {
        let providers = FakeProviders::start_with(|config| {
            config.upstream.timeout_ms = 600_000;
            config.limits.upstream_calls = NonZeroU32::MIN;
        })
        .await;
        let server = providers.get(hanging);
        let one = providers.start_login(hanging, 1).await;
        let two = providers.start_login(hanging, 2).await;
        server.set_reply(path, Reply::Silence);
        let others = async {
            server.wait_for_calls(path, 1).await;
            for key in 3..13 {
                assert!(providers.sign_in(working, key).await.is_ok());
            }
            assert_eq!(server.hang_ups(), 0, "the broker is still waiting");
            assert_eq!(server.calls_to(path).len(), 1, "one of the two waits");
        };
        tokio::select! {
            _ = one.return_with("code=a-code") => panic!("the provider hangs"),
            _ = two.return_with("code=a-code") => panic!("it waits for the other"),
            () = others => {}
        }
        assert_eq!(providers.broker.result(1).await.json()["status"], "pending");
    }
}

#[tokio::test]
async fn every_login_that_waits_for_a_call_gets_its_turn() {
    let providers =
        FakeProviders::start_with(|config| config.limits.upstream_calls = NonZeroU32::MIN).await;
    for result in join_all((0..20).map(|_| providers.log_in(GitHub))).await {
        assert!(result.is_ok());
    }
}

/// Neither call is answered before both were made.
#[tokio::test]
async fn the_user_and_the_addresses_are_requested_at_once() {
    let providers = FakeProviders::start().await;
    for path in [USER, EMAILS] {
        let usual = providers.github.reply(path);
        let held = usual.held_until(&[(USER, 1), (EMAILS, 1)]);
        providers.github.set_reply(path, held);
    }
    let profile = providers.sign_in(GitHub, 1).await.unwrap();
    assert_eq!(profile["email"], "ada@mail.example");
    for path in [USER, EMAILS] {
        assert_eq!(providers.github.calls_to(path).len(), 1);
    }
}

#[tokio::test]
async fn if_both_calls_fail_the_one_for_the_user_counts_and_both_are_logged() {
    let refused = Reply::of(401, "application/json", "{}");
    for (user, emails, failure) in [
        (refused.clone(), server_error(), Failure::Refused),
        (server_error(), refused, Failure::ServerError),
    ] {
        let providers = FakeProviders::start().await;
        let user = user.held_until(&[(EMAILS, 1)]);
        providers.github.set_reply(USER, user);
        providers.github.set_reply(EMAILS, emails);
        let expected = failed_with(failure.error().as_str());
        assert_eq!(providers.sign_in(GitHub, 1).await, expected);
        assert_eq!(providers.last_failure(), Some(failure.why()));
        let events = providers.broker.events();
        for operation in ["GET user", "GET user emails"] {
            let calls = events.iter().filter(|it| it.operation == operation);
            assert_eq!(calls.count(), 1, "{operation}");
        }
    }
}
