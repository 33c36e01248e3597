//! A provider that answers slowly, hugely, with a redirect, or not at all.

use std::time::Duration;

use contract::Provider::{self, GitHub, Google};

use super::{
    DISCOVERY, EMAILS, ENDLESS_BYTES, FakeProvider, FakeProviders, KEYS, Reply, TOKEN, USER,
    adas_github_user, discovery_document, failed_with,
};
use crate::test_broker::CALLBACK;

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

// Threats: A42.
#[tokio::test]
async fn b12_no_call_follows_a_redirect() {
    let elsewhere = FakeProvider::start().await;
    for (provider, path, error) in CALLS {
        let location = format!("{}{path}", elsewhere.url());
        for status in [301, 302, 303, 307, 308] {
            let providers = FakeProviders::start().await;
            let reply = Reply::of(status, "application/json", "{}").with("Location", &location);
            let result = providers.log_in_with(provider, path, &reply).await;
            assert_eq!(result.unwrap_err(), error, "{path}");
        }
    }
    assert!(elsewhere.calls().is_empty());
}

/// Checks that a login fails if a member of Google's discovery document has one of these
/// values. `OWN` stands for the configured issuer, `UPPER` for it with a scheme in capitals.
async fn check_discovery(member: &str, values: &[&str]) {
    for value in values {
        let providers = FakeProviders::start().await;
        let own = providers.google.url();
        let mut document = discovery_document(&own);
        let upper = own.replace("http:", "HTTP:");
        document[member] = value.replace("OWN", &own).replace("UPPER", &upper).into();
        let reply = Reply::json(&document);
        let result = providers.log_in_with(Google, DISCOVERY, &reply).await;
        assert_eq!(result.unwrap_err(), UNAVAILABLE, "{member} {value}");
    }
}

// Threats: A42.
#[tokio::test]
async fn b12_a_discovery_document_cannot_send_browsers_or_secrets_to_another_host() {
    let elsewhere = FakeProvider::start().await;
    let (path, user) = (
        format!("{}/path", elsewhere.url()),
        format!("http://user@{}/", elsewhere.address),
    );
    let google = "https://oauth2.googleapis.com/token";
    let others = [
        &*path,
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
    for (provider, path, _) in CALLS {
        let providers = FakeProviders::start().await;
        let result = providers.log_in_with(provider, path, &reply).await;
        assert_eq!(result.unwrap_err(), UNAVAILABLE, "{path}");
    }
}

/// A body that is never decompressed cannot grow. One of another media type may be the page
/// of a captive portal, a sign-in form, or the error page of a proxy.
#[tokio::test]
async fn b13_a_response_that_is_compressed_or_not_declared_as_json_is_not_read() {
    let codings = ["gzip", "br", "zstd", "deflate", "identity, gzip", ""];
    let media_types = ["text/html", "text/plain", "application/jsonp", "", "json"];
    for (provider, path, error) in CALLS {
        let codings = codings.map(|value| ("Content-Encoding", value));
        let media_types = media_types.map(|value| ("Content-Type", value));
        for (name, value) in codings.into_iter().chain(media_types) {
            let providers = FakeProviders::start().await;
            let change = |reply: Reply| reply.with(name, value);
            let result = providers.log_in_where(provider, path, change).await;
            assert_eq!(result.unwrap_err(), error, "{path} {name}: {value}");
            let calls = providers.get(provider).calls();
            let asks = calls.iter().any(|it| it.head.contains("accept-encoding"));
            assert!(!calls.is_empty() && !asks, "{calls:?}");
        }
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
    let mut document = discovery_document(&providers.google.url());
    document["issuer"] = "https://evil.test".into();
    providers
        .google
        .set_reply(DISCOVERY, Reply::json(&document));
    let login = providers.start_login(Google, 2).await;
    login.redirect.redirects_to(CALLBACK);
    assert_eq!(providers.result(2).await, failed_with(UNAVAILABLE));
}
