//! Addresses: a callback, an authorization URL, which has the same shape, and an origin.
//! Each is HTTPS, or HTTP on loopback, as a browser writes it.

use contract::{AuthorizationUrl, Digest, Malformed, Origin, RedirectUri};
use proptest::prelude::*;

/// Blocks of callbacks: above each whether they are accepted, and what is checked.
const CALLBACKS: &str = include_str!("addresses.txt");

/// Characters that no callback contains at any place: a browser strips them, or RFC 3986
/// has them not.
const FOREIGN: &str = " \t\r\n\0\u{feff}\u{202e}\"<>\\^`{|}\u{7f}ÿ[]";

/// Checks `text` as a callback and as an authorization URL.
#[track_caller]
fn check(text: &str, is_accepted: bool, why: &str) {
    let callback = text.parse::<RedirectUri>();
    assert_eq!(callback.is_ok(), is_accepted, "{text:?}: {why}");
    let json = serde_json::from_value::<RedirectUri>(text.into());
    assert_eq!(json.is_ok(), is_accepted, "{text:?} in JSON");
    let url = text.parse::<AuthorizationUrl>();
    assert_eq!(url.is_ok(), is_accepted, "{text:?} as authorization_url");
    if let (Ok(callback), Ok(url)) = (callback, url) {
        assert_eq!((callback.as_str(), url.expose()), (text, text));
        assert_eq!(serde_json::to_value(&url).unwrap(), text);
        assert_eq!(serde_json::to_value(&callback).unwrap(), text);
        assert_eq!(callback.to_string(), text);
        assert_eq!(callback.digest(), Digest::of(text.as_bytes()));
        assert_eq!(*callback.origin(), url.origin());
        assert_eq!(String::from(callback), text);
    }
}

// Threats: A2.
#[test]
fn a_callback_is_an_https_url_or_http_on_loopback_as_a_browser_writes_it() {
    for block in CALLBACKS.split("\n\n") {
        let (head, texts) = block.split_once('\n').unwrap();
        let (verdict, why) = head.split_once(": ").unwrap();
        let texts = texts.split_whitespace();
        texts.for_each(|text| check(text, verdict == "accepted", why));
    }
    check("", false, "nothing");
    for c in FOREIGN.chars() {
        for (before, after) in [
            ("", "https://app.example/cb"),
            ("ht", "tps://app.example/cb"),
            ("https://app.exam", "ple/cb"),
            ("https://app.example/c", "b"),
            ("https://app.example/cb", ""),
        ] {
            check(&format!("{before}{c}{after}"), false, "a foreign character");
        }
    }
}

/// The specification requires a URL; its canonical form is this kit's choice.
#[test]
fn a_url_that_a_browser_would_only_rewrite_breaks_no_rule_of_the_specification() {
    for (text, is_choice) in [
        ("https://APP.example/cb", true),
        ("https://app.example:443/cb", true),
        ("https://app.example/x/../cb", true),
        ("http://LOCALHOST/cb", true),
        ("http://127.1/cb", true),
        ("http://APP.example/cb", false),
        ("https://APP.example/cb?", false),
        ("https://ada@APP.example/cb", false),
        ("https://app.example/c b", false),
        ("ftp://app.example/cb", false),
    ] {
        let Malformed(rule) = text.parse::<RedirectUri>().unwrap_err();
        let is_kits = rule.source() == contract::Source::KitChoice;
        assert_eq!(is_kits, is_choice, "{text}: {rule}");
    }
}

/// The text that begins with `start` and has this length.
fn of_length(start: &str, length: usize) -> String {
    format!("{start}{}", "a".repeat(length - start.len()))
}

#[test]
fn a_callback_has_at_most_2048_characters_and_an_origin_no_more_than_a_name_can_have() {
    assert_eq!(contract::address::MAX_CHARS, 2048);
    for (length, is_accepted) in [(2047, true), (2048, true), (2049, false), (100_000, false)] {
        let text = of_length("https://app.example/", length);
        check(&text, is_accepted, "its length");
    }
    check_origin(&of_length("https://example.", 267), true);
    check_origin(&of_length("https://example.", 268), false);
}

#[test]
fn the_origin_of_a_callback_is_its_scheme_host_and_port() {
    for (uri, origin) in [
        ("https://app.example/a/b", "https://app.example"),
        ("https://app.example", "https://app.example"),
        ("https://app.example:8443/", "https://app.example:8443"),
        ("http://localhost:3000/cb", "http://localhost:3000"),
        ("http://[::1]:3000/cb", "http://[::1]:3000"),
    ] {
        let uri: RedirectUri = uri.parse().unwrap();
        assert_eq!(*uri.origin(), origin.parse().unwrap());
        assert_eq!(uri.origin().as_str(), origin);
    }
}

#[track_caller]
fn check_origin(text: &str, is_accepted: bool) {
    let origin = text.parse::<Origin>();
    assert_eq!(origin.is_ok(), is_accepted, "{text:?}");
    let json = serde_json::from_value::<Origin>(text.into());
    assert_eq!(json.is_ok(), is_accepted, "{text:?} in JSON");
    if let Ok(origin) = origin {
        assert_eq!(origin.as_str(), text);
        assert_eq!(origin.to_string(), text);
        assert_eq!(serde_json::to_value(&origin).unwrap(), text);
        assert_eq!(origin.is_https(), text.starts_with("https"));
        assert_eq!(String::from(origin), text);
    }
}

#[test]
fn an_origin_is_https_or_http_on_loopback_with_nothing_behind_its_port() {
    let accepted = "https://broker.example https://broker.example:8443 https://203.0.113.7
        https://xn--bcher-kva.example http://localhost http://localhost:8000
        http://127.0.0.1:8000 http://127.8.9.10 http://[::1]:8000";
    accepted
        .split_whitespace()
        .for_each(|text| check_origin(text, true));
    let refused = r#"http://broker.example http://0.0.0.0:8000 http://app.localhost
        http://localhost.evil.test http://127.0.0.1.nip.io http://[::ffff:7f00:1]
        ftp://localhost ws://localhost file:/// null
        https://broker.example/ https://broker.example/base https://broker.example?
        https://broker.example?a https://broker.example# https://broker.example#a
        https://ada@broker.example https://@broker.example
        HTTPS://broker.example https://Broker.example https://broker.example:443
        http://localhost:80 https://broker.example: http://127.1 http://2130706433
        http://[0:0:0:0:0:0:0:1] https://bücher.example https:broker.example
        https:\\broker.example broker.example
        https://a"b.example https://a`b.example https://a{b}.example"#;
    refused
        .split_whitespace()
        .for_each(|text| check_origin(text, false));
    "| https://broker.example|https://broker.example |https://broker.example\n"
        .split('|')
        .for_each(|text| check_origin(text, false));
}

#[test]
fn loopback_is_localhost_127_8_and_the_one_ipv6_address() {
    let here = "http://localhost:8000 https://localhost https://127.0.0.1
        https://127.255.255.255 https://[::1]";
    let elsewhere = "https://broker.example https://128.0.0.1 https://0.0.0.0 https://[::2]
        https://app.localhost https://localhost.example";
    for (texts, expected) in [(here, true), (elsewhere, false)] {
        for text in texts.split_whitespace() {
            let origin: Origin = text.parse().unwrap();
            assert_eq!(origin.is_loopback(), expected, "{text}");
        }
    }
}

/// Checks that an origin, if `text` is one, can carry an authorization URL.
fn carries_a_login(text: &str) -> bool {
    text.parse::<Origin>().ok().is_none_or(|origin| {
        format!("{origin}/login/{}", "h".repeat(43))
            .parse::<AuthorizationUrl>()
            .is_ok()
    })
}

#[test]
fn a_long_origin_can_carry_the_authorization_urls_made_from_it() {
    assert!(carries_a_login("http://[::1]:65535"));
    for labels in ["a".repeat(63) + ".", "abc.".repeat(600)] {
        let origin = format!("https://{labels}example");
        assert!(carries_a_login(&origin), "{origin}");
    }
}

proptest! {
    #[test]
    fn every_printable_origin_can_carry_a_login(host in "[!-~]{1,30}") {
        prop_assert!(carries_a_login(&format!("https://{host}")), "{}", host);
    }

    #[test]
    fn what_is_accepted_is_what_a_browser_would_write(
        text in "(https|http)://(app\\.example|localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]{1,5})?[ -~]{0,40}"
    ) {
        if let Ok(uri) = text.parse::<RedirectUri>() {
            let url = url::Url::parse(&text).unwrap();
            prop_assert!([text.clone(), text.clone() + "/"].contains(&url.to_string()));
            prop_assert_eq!((url.query(), url.fragment(), url.username()), (None, None, ""));
            // Its origin never panics and is one of ours.
            let _ = uri.origin();
        }
    }
}
