//! A provider that answers slowly, hugely, with a redirect, or not at all.

use std::time::Duration;

use contract::Provider::{self, GitHub, Google};

use super::providers::{
    DISCOVERY, EMAILS, ENDLESS_BYTES, FakeProvider, FakeProviders, KEYS, OUR_SECRET, Reply, TOKEN,
    USER, failed_with,
};
use crate::test_broker::CALLBACK;

/// Every call that a login makes, with its provider.
const CALLS: [(Provider, &str); 6] = [
    (Google, DISCOVERY),
    (Google, KEYS),
    (Google, TOKEN),
    (GitHub, TOKEN),
    (GitHub, USER),
    (GitHub, EMAILS),
];

/// The error of a clean login while `path` is answered with `reply`.
async fn login_with(
    providers: &FakeProviders,
    provider: Provider,
    path: &str,
    reply: Reply,
) -> String {
    providers.get(provider).set_reply(path, reply.clone());
    let login = providers.start_login(provider, 1).await;
    if login.is_at_provider() {
        providers.get(provider).set_reply(path, reply);
        login
            .return_with("code=a-code")
            .await
            .redirects_to(CALLBACK);
    }
    providers.result(1).await.unwrap_err()
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
            let providers =
                FakeProviders::start_with(|config| config.upstream.timeout_ms = 1_000).await;
            let error = login_with(&providers, provider, TOKEN, reply).await;
            assert_eq!(error, "provider_unavailable");
            assert_eq!(providers.get(provider).calls_to(TOKEN).len(), 1);
        }
    }
}

/// On a reused connection that is closed, an HTTP client may assume that the request was
/// not processed, and send it again.
#[tokio::test]
async fn b11_a_code_is_exchanged_once_on_a_reused_connection_too() {
    for provider in Provider::ALL {
        let providers = FakeProviders::start().await;
        assert!(providers.sign_in(provider, 1).await.is_ok());
        let login = providers.start_login(provider, 2).await;
        providers.get(provider).set_reply(TOKEN, Reply::Close);
        login
            .return_with("code=another-code")
            .await
            .redirects_to(CALLBACK);
        assert_eq!(
            providers.result(2).await,
            failed_with("provider_unavailable")
        );
        assert_eq!(providers.get(provider).calls_to(TOKEN).len(), 2);
    }
}

// Threats: A42.
#[tokio::test]
async fn b12_no_call_follows_a_redirect() {
    let elsewhere = FakeProvider::start().await;
    for (provider, path) in CALLS {
        for status in [301, 302, 303, 307, 308] {
            let providers = FakeProviders::start().await;
            let location = format!("{}{path}", elsewhere.url());
            let reply = Reply::of(status, "application/json", "{}").with("Location", &location);
            let error = login_with(&providers, provider, path, reply).await;
            let is_document = [DISCOVERY, KEYS].contains(&path);
            assert_eq!(error == "provider_unavailable", is_document, "{path}");
        }
    }
    assert!(elsewhere.calls().is_empty());
}

// Threats: A42.
#[tokio::test]
async fn b12_a_discovery_document_cannot_send_browsers_or_secrets_to_another_host() {
    let elsewhere = FakeProvider::start().await;
    for member in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        for url in [
            format!("{}/path", elsewhere.url()),
            format!("http://user@{}/", elsewhere.address),
            "https://oauth2.googleapis.com/token".to_owned(),
            "javascript:alert(1)".to_owned(),
            "//evil.test/".to_owned(),
            String::new(),
        ] {
            let providers = FakeProviders::start().await;
            let mut document = super::providers::discovery_document(&providers.google.url());
            document[member] = url.into();
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
    }
    assert!(elsewhere.calls().is_empty());
}

#[tokio::test]
async fn b12_calls_go_through_a_proxy_only_if_it_is_configured() {
    let proxy = FakeProvider::start().await;
    let providers = FakeProviders::start_with(|config| {
        config.upstream.proxy = proxy.url().try_into().unwrap();
    })
    .await;
    // This proxy forwards nothing.
    let login = providers.start_login(GitHub, 1).await;
    login
        .return_with("code=a-code")
        .await
        .redirects_to(CALLBACK);
    let called = &proxy.calls()[0].line;
    assert!(
        called.starts_with(&format!("POST {}{TOKEN} ", providers.github.url())),
        "{called}"
    );
    assert!(providers.github.calls().is_empty());
}

/// A response whose bytes keep coming never reaches a limit on the time between two.
#[tokio::test]
async fn b13_a_slow_response_ends_within_the_budget() {
    for (provider, path) in CALLS {
        let providers = FakeProviders::start_with(|config| config.upstream.timeout_ms = 300).await;
        let slow = Reply::Endless(b" ", Duration::from_millis(10));
        let error = login_with(&providers, provider, path, slow).await;
        assert_eq!(error, "provider_unavailable");
        providers.get(provider).wait_for_hang_up().await;
    }
}

#[tokio::test]
async fn b13_a_silence_ends_within_the_budget() {
    for (provider, path) in CALLS {
        let providers = FakeProviders::start_with(|config| config.upstream.timeout_ms = 300).await;
        let error = login_with(&providers, provider, path, Reply::Silence).await;
        assert_eq!(error, "provider_unavailable");
        providers.get(provider).wait_for_hang_up().await;
    }
}

/// The broker hangs up on a response without an end, having read the maximum and what
/// the sockets hold.
#[tokio::test]
async fn b13_a_huge_body_is_not_read_to_its_end() {
    for (provider, path) in CALLS {
        let providers =
            FakeProviders::start_with(|config| config.upstream.timeout_ms = 600_000).await;
        let flood = Reply::Endless(&[b' '; 64 * 1024], Duration::from_nanos(1));
        let error = login_with(&providers, provider, path, flood).await;
        let is_document = [DISCOVERY, KEYS].contains(&path);
        assert_eq!(error == "provider_unavailable", is_document, "{path}");
        let server = providers.get(provider);
        server.wait_for_hang_up().await;
        assert!(server.bytes_sent() < ENDLESS_BYTES);
    }
}

#[tokio::test]
async fn b13_a_huge_head_is_not_read_to_its_end() {
    for (provider, path) in CALLS {
        let providers = FakeProviders::start().await;
        let mut bytes = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        bytes.resize(5_000_000, b'x');
        let error = login_with(&providers, provider, path, Reply::Raw(bytes)).await;
        assert_eq!(error, "provider_unavailable");
    }
}

/// Checks that a clean login fails if the usual response at `path` has this header.
async fn login_with_header(provider: Provider, path: &str, name: &str, value: &str) {
    let providers = FakeProviders::start().await;
    let server = providers.get(provider);
    let set_header = || server.set_reply(path, server.reply(path).with(name, value));
    let is_document = [DISCOVERY, KEYS].contains(&path);
    if is_document {
        set_header();
    }
    let login = providers.start_login(provider, 1).await;
    if login.is_at_provider() {
        set_header();
        login
            .return_with("code=a-code")
            .await
            .redirects_to(CALLBACK);
    }
    let calls = server.calls();
    assert!(!calls.is_empty());
    assert!(
        calls
            .iter()
            .all(|call| !call.head.contains("accept-encoding"))
    );
    let error = providers.result(1).await.unwrap_err();
    assert_eq!(
        error == "provider_unavailable",
        is_document,
        "{path} {value}"
    );
}

/// A body that is never decompressed cannot grow.
#[tokio::test]
async fn b13_a_compressed_response_is_neither_requested_nor_decoded() {
    for (provider, path) in CALLS {
        for coding in ["gzip", "br", "zstd", "deflate", "identity, gzip", ""] {
            login_with_header(provider, path, "Content-Encoding", coding).await;
        }
    }
}

/// Such as the page of a captive portal, a sign-in form, or the error page of a proxy.
#[tokio::test]
async fn b13_a_response_of_another_media_type_is_not_read_as_json() {
    for (provider, path) in CALLS {
        for media_type in ["text/html", "text/plain", "application/jsonp", "", "json"] {
            login_with_header(provider, path, "Content-Type", media_type).await;
        }
    }
}

#[tokio::test]
async fn the_media_type_of_json_may_have_capitals_and_parameters() {
    let providers = FakeProviders::start().await;
    let body = super::providers::adas_github_user().to_string();
    for (key, media_type) in [
        (1, "Application/JSON"),
        (2, "application/json ; charset=utf-8"),
    ] {
        providers
            .github
            .set_reply(USER, Reply::of(200, media_type, body.clone()));
        assert!(providers.sign_in(GitHub, key).await.is_ok());
    }
}

#[tokio::test]
async fn our_client_secret_is_sent_to_token_endpoints_alone() {
    let providers = FakeProviders::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        assert!(providers.sign_in(provider, key).await.is_ok());
        for call in providers.get(provider).calls() {
            let text = format!("{}{}{}", call.line, call.head, call.body);
            assert_eq!(
                text.contains(OUR_SECRET),
                call.path() == TOKEN,
                "{}",
                call.line
            );
        }
    }
}
