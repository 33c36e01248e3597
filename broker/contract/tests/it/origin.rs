//! Base addresses.

use contract::{AuthorizationUrl, Malformed, Origin, Rule};
use proptest::prelude::*;

#[track_caller]
fn accepted(text: &str) -> Origin {
    let origin: Origin = text.parse().unwrap();
    assert_eq!(origin.as_str(), text);
    assert_eq!(origin.to_string(), text);
    assert_eq!(serde_json::to_value(&origin).unwrap(), text);
    assert_eq!(String::from(origin.clone()), text);
    origin
}

#[track_caller]
fn refused(text: &str) {
    assert_eq!(
        text.parse::<Origin>(),
        Err(Malformed(Rule::OriginShape)),
        "{text:?}"
    );
    assert!(serde_json::from_value::<Origin>(text.into()).is_err());
}

#[test]
fn an_origin_is_https_or_http_on_loopback() {
    accepted("https://broker.example");
    accepted("https://broker.example:8443");
    accepted("https://203.0.113.7");
    accepted("https://xn--bcher-kva.example");
    accepted("http://localhost");
    accepted("http://localhost:8000");
    accepted("http://127.0.0.1:8000");
    accepted("http://127.8.9.10");
    accepted("http://[::1]:8000");
    refused("http://broker.example");
    refused("http://0.0.0.0:8000");
    refused("http://app.localhost");
    refused("http://localhost.evil.test");
    refused("http://127.0.0.1.nip.io");
    refused("http://[::ffff:7f00:1]");
    refused("ftp://localhost");
    refused("ws://localhost");
    refused("file:///");
    refused("null");
    refused("");
}

#[test]
fn an_origin_has_nothing_behind_its_port() {
    refused("https://broker.example/");
    refused("https://broker.example/base");
    refused("https://broker.example?");
    refused("https://broker.example?a");
    refused("https://broker.example#");
    refused("https://broker.example#a");
    refused("https://ada@broker.example");
    refused("https://@broker.example");
}

#[test]
fn only_the_form_that_a_browser_writes_is_an_origin() {
    refused("HTTPS://broker.example");
    refused("https://Broker.example");
    refused("https://broker.example:443");
    refused("http://localhost:80");
    refused("https://broker.example:");
    refused("http://127.1");
    refused("http://2130706433");
    refused("http://[0:0:0:0:0:0:0:1]");
    refused("https://bücher.example");
    refused(" https://broker.example");
    refused("https://broker.example ");
    refused("https://broker.example\n");
    refused("https:broker.example");
    refused("https:\\\\broker.example");
    refused("broker.example");
}

#[test]
fn loopback_is_localhost_127_8_and_the_one_ipv6_address() {
    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(accepted(text).is_loopback(), expected, "{text}");
    }
    check("http://localhost:8000", true);
    check("https://localhost", true);
    check("https://127.0.0.1", true);
    check("https://127.255.255.255", true);
    check("https://[::1]", true);
    check("https://broker.example", false);
    check("https://128.0.0.1", false);
    check("https://0.0.0.0", false);
    check("https://[::2]", false);
    check("https://app.localhost", false);
    check("https://localhost.example", false);
}

#[test]
fn https_is_distinguished_from_http() {
    assert!(accepted("https://broker.example").is_https());
    assert!(!accepted("http://localhost:8000").is_https());
}

#[test]
fn an_origin_is_no_longer_than_a_name_can_be() {
    let of_length = |length: usize| {
        let start = "https://example.";
        format!("{start}{}", "a".repeat(length - start.len()))
    };
    accepted(&of_length(267));
    refused(&of_length(268));
}

#[test]
fn a_host_is_of_the_characters_that_rfc_3986_allows() {
    refused("https://a\"b.example");
    refused("https://a`b.example");
    refused("https://a{b}.example");
}

#[test]
fn every_origin_can_carry_the_authorization_urls_made_from_it() {
    #[track_caller]
    fn check(text: &str) {
        if let Ok(origin) = text.parse::<Origin>() {
            let url = format!("{origin}/login/{}", "h".repeat(43));
            assert!(url.parse::<AuthorizationUrl>().is_ok(), "{url:?}");
        }
    }
    check("https://broker.example");
    check("http://[::1]:65535");
    // Hosts that the URL standard accepts although no name server does.
    for odd in [
        '"', '`', '{', '}', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', '_', '~',
    ] {
        check(&format!("https://a{odd}b.example"));
    }
    check(&format!("https://{}.example", "a".repeat(63)));
    check(&format!("https://{}example", "abc.".repeat(600)));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = text.parse::<Origin>();
        let _ = format!("https://{text}").parse::<Origin>();
    }

    #[test]
    fn every_printable_origin_can_carry_a_login(host in "[!-~]{1,30}") {
        if let Ok(origin) = format!("https://{host}").parse::<Origin>() {
            let url = format!("{origin}/login/{}", "h".repeat(43));
            prop_assert!(url.parse::<AuthorizationUrl>().is_ok(), "{}", url);
        }
    }
}
