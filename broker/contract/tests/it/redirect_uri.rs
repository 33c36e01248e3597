//! RedirectUri: an HTTPS URL, or an HTTP loopback one, as a browser writes it.

use contract::{AuthorizationUrl, Digest, Malformed, RedirectUri, Rule};
use proptest::prelude::*;

/// Checks `text` as a callback, and as an authorization URL, which has the same shape.
#[track_caller]
fn check(text: &str, expected: Verdict) {
    let callback = text.parse::<RedirectUri>();
    let is_callback = callback.is_ok();
    match callback {
        Ok(uri) => assert_eq!(uri.as_str(), text, "the text is kept"),
        Err(Malformed(rule)) => {
            let rules = [Rule::RedirectUriShape, Rule::RedirectUriCanonical];
            assert!(rules.contains(&rule), "{text:?}: {rule}");
        }
    }
    assert_eq!(is_callback, expected == Accepted, "{text:?}");
    let url = text.parse::<AuthorizationUrl>();
    assert_eq!(url.is_ok(), is_callback, "{text:?} as authorization_url");
    match url {
        Ok(url) => assert_eq!(url.expose(), text),
        Err(error) => assert_eq!(error, Malformed(Rule::AuthorizationUrlShape)),
    }
    let json = serde_json::to_string(text).unwrap();
    assert_eq!(
        serde_json::from_str::<RedirectUri>(&json).is_ok(),
        is_callback
    );
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Refused,
}
use Verdict::{Accepted, Refused};

#[test]
fn an_https_url_is_a_callback() {
    check("https://app.example/cb", Accepted);
    check("https://app.example/", Accepted);
    check("https://app.example", Accepted);
    check("https://app.example/cb/", Accepted);
    check("https://app.example:8443/cb", Accepted);
    check("https://app.example:80/cb", Accepted);
    check("https://a-b.app.example/x/y/z", Accepted);
    check("https://xn--bcher-kva.example/cb", Accepted);
    check("https://203.0.113.7/cb", Accepted);
    check("https://[2001:db8::1]/cb", Accepted);
    check("https://localhost/cb", Accepted);
    check("https://app.example//cb", Accepted);
    check("https://app.example/@ada:x/!$&'()*+,;=~", Accepted);
    check("https://app.example/caf%C3%A9", Accepted);
    check("https://app.example/a%2fb", Accepted);
    check("https://app.example/a%00b", Accepted);
}

// Threats: A2.
#[test]
fn an_http_url_is_a_callback_only_on_loopback() {
    check("http://localhost/cb", Accepted);
    check("http://localhost:3000/cb", Accepted);
    check("http://localhost:3000", Accepted);
    check("http://127.0.0.1/cb", Accepted);
    check("http://127.0.0.1:3000/cb", Accepted);
    check("http://127.255.255.254/cb", Accepted);
    check("http://[::1]/cb", Accepted);
    check("http://[::1]:3000/cb", Accepted);

    check("http://app.example/cb", Refused);
    check("http://10.0.0.1/cb", Refused);
    check("http://126.255.255.255/cb", Refused);
    check("http://128.0.0.1/cb", Refused);
    check("http://0.0.0.0/cb", Refused);
    check("http://[::]/cb", Refused);
    check("http://[::2]/cb", Refused);
    check("http://[::ffff:7f00:1]/cb", Refused);
    check("http://127.0.0.1.nip.io/cb", Refused);
    check("http://localhost.evil.test/cb", Refused);
    check("http://evil.localhost.test/cb", Refused);
    check("http://app.localhost/cb", Refused);
    check("http://localhost./cb", Refused);
    check("http://127.0.0.1./cb", Refused);
    check("http://xn--localhost-/cb", Refused);
}

// Threats: A2.
#[test]
fn another_spelling_of_loopback_is_not_a_callback() {
    check("http://127.1/cb", Refused);
    check("http://127.0.1/cb", Refused);
    check("http://2130706433/cb", Refused);
    check("http://0x7f.0.0.1/cb", Refused);
    check("http://0x7f000001/cb", Refused);
    check("http://0177.0.0.1/cb", Refused);
    check("http://127.000.000.001/cb", Refused);
    check("http://[0:0:0:0:0:0:0:1]/cb", Refused);
    check("http://[::0001]/cb", Refused);
    check("http://[::ffff:127.0.0.1]/cb", Refused);
    check("http://LOCALHOST/cb", Refused);
    check("http://%6cocalhost/cb", Refused);
    check("http://ⓛocalhost/cb", Refused);
}

#[test]
fn a_callback_has_no_credentials() {
    check("https://ada@app.example/cb", Refused);
    check("https://ada:pass@app.example/cb", Refused);
    check("https://:pass@app.example/cb", Refused);
    check("https://@app.example/cb", Refused);
    check("https://:@app.example/cb", Refused);
    check("https://app.example@evil.test/cb", Refused);
    check("http://localhost@evil.test/cb", Refused);
}

#[test]
fn a_callback_has_no_query_not_even_an_empty_one() {
    check("https://app.example/cb?a=b", Refused);
    check("https://app.example/cb?", Refused);
    check("https://app.example?", Refused);
    check("https://app.example/cb%3Fa=b", Accepted);
}

#[test]
fn a_callback_has_no_fragment_not_even_an_empty_one() {
    check("https://app.example/cb#top", Refused);
    check("https://app.example/cb#", Refused);
    check("https://app.example#", Refused);
    check("https://app.example/cb?#", Refused);
    check("https://app.example/cb%23top", Accepted);
}

#[test]
fn only_the_form_that_a_browser_writes_is_a_callback() {
    check("HTTPS://app.example/cb", Refused);
    check("https://APP.example/cb", Refused);
    check("https://app.example:443/cb", Refused);
    check("http://localhost:80/cb", Refused);
    check("https://app.example:0443/cb", Refused);
    check("https://app.example:08443/cb", Refused);
    check("https://app.example:/cb", Refused);
    check("https://app.example:65536/cb", Refused);
    check("https://app.example/x/../cb", Refused);
    check("https://app.example/./cb", Refused);
    check("https://app.example/..", Refused);
    check("https://app.example/x/%2e%2e/cb", Refused);
    check("https://app.example/%2E/cb", Refused);
    check("https://app.example/.%2e/cb", Refused);
    check("https:app.example/cb", Refused);
    check("https:/app.example/cb", Refused);
    check("https:///app.example/cb", Refused);
    check("https:\\\\app.example\\cb", Refused);
    check("https://app.example\\cb", Refused);
    check("https://app.example/a\\b", Refused);
    check("https://bücher.example/cb", Refused);
    check("https://app。example/cb", Refused);
    check("https://app.example/café", Refused);
    check("https://app.example/\u{202e}bc", Refused);
}

/// The specification requires a URL; its canonical form is this kit's choice.
#[test]
fn a_url_that_a_browser_would_only_rewrite_breaks_no_rule_of_the_specification() {
    #[track_caller]
    fn check(text: &str, rule: Rule) {
        let refused = text.parse::<RedirectUri>();
        assert_eq!(refused, Err(Malformed(rule)), "{text}");
    }
    check("https://APP.example/cb", Rule::RedirectUriCanonical);
    check("https://app.example:443/cb", Rule::RedirectUriCanonical);
    check("https://app.example/x/../cb", Rule::RedirectUriCanonical);
    check("http://LOCALHOST/cb", Rule::RedirectUriCanonical);
    check("http://127.1/cb", Rule::RedirectUriCanonical);
    check("http://APP.example/cb", Rule::RedirectUriShape);
    check("https://APP.example/cb?", Rule::RedirectUriShape);
    check("https://ada@APP.example/cb", Rule::RedirectUriShape);
    check("https://app.example/c b", Rule::RedirectUriShape);
    check("ftp://app.example/cb", Rule::RedirectUriShape);
}

#[test]
fn nothing_that_a_browser_strips_is_in_a_callback() {
    check(" https://app.example/cb", Refused);
    check("https://app.example/cb ", Refused);
    check("https://app.example/c b", Refused);
    check("\thttps://app.example/cb", Refused);
    check("https://app.exam\tple/cb", Refused);
    check("https://app.example/c\tb", Refused);
    check("https://app.example/cb\n", Refused);
    check("https://app.example/c\nb", Refused);
    check("ht\r\ntps://app.example/cb", Refused);
    check("https://app.example/cb\0", Refused);
    check("\u{feff}https://app.example/cb", Refused);
}

#[test]
fn no_character_outside_rfc_3986_is_in_a_callback() {
    for c in ['"', '<', '>', '\\', '^', '`', '{', '|', '}', '\u{7f}', 'ÿ'] {
        check(&format!("https://app.example/a{c}b"), Refused);
    }
    for c in ['[', ']'] {
        check(&format!("https://app.example/a{c}b"), Refused);
    }
    for c in "-._~:@!$&'()*+,;=".chars() {
        check(&format!("https://app.example/a{c}b"), Accepted);
    }
}

#[test]
fn every_percent_begins_two_hex_digits() {
    check("https://app.example/%41", Accepted);
    check("https://app.example/%fF%aA", Accepted);
    check("https://app.example/%", Refused);
    check("https://app.example/%4", Refused);
    check("https://app.example/%4g", Refused);
    check("https://app.example/%g4", Refused);
    check("https://app.example/%%41", Refused);
    check("https://app.example/%41%", Refused);
    check("https://app.example/%u0041", Refused);
    check("https://app.example/% 41", Refused);
}

#[test]
fn no_other_scheme_is_a_callback() {
    check("", Refused);
    check("/cb", Refused);
    check("//app.example/cb", Refused);
    check("app.example/cb", Refused);
    check("app.example:443/cb", Refused);
    check("file:///etc/passwd", Refused);
    check("file://localhost/cb", Refused);
    check("ftp://localhost/cb", Refused);
    check("ws://localhost/cb", Refused);
    check("javascript:alert(1)", Refused);
    check("javascript://app.example/%0Aalert(1)", Refused);
    check("data:text/html,hi", Refused);
    check("com.example.app:/cb", Refused);
    check("com.example.app://localhost/cb", Refused);
    check("about:blank", Refused);
    check("https", Refused);
    check("https:", Refused);
    check("https://", Refused);
    check("https:///", Refused);
}

#[test]
fn a_callback_has_at_most_2048_characters() {
    let of_length = |length: usize| {
        let start = "https://app.example/";
        format!("{start}{}", "a".repeat(length - start.len()))
    };
    check(&of_length(2047), Accepted);
    check(&of_length(2048), Accepted);
    check(&of_length(2049), Refused);
    check(&of_length(100_000), Refused);
    assert_eq!(contract::redirect_uri::MAX_CHARS, 2048);
}

#[test]
fn two_callbacks_are_equal_only_byte_for_byte() {
    let uri = |text: &str| -> RedirectUri { text.parse().unwrap() };
    let own = uri("https://app.example/cb");
    assert_eq!(own, uri("https://app.example/cb"));
    for other in [
        "https://app.example/cb/",
        "https://app.example/CB",
        "https://app.example/c%62",
        "https://app.example:8443/cb",
        "https://localhost/cb",
        "https://app.example",
    ] {
        assert_ne!(own, uri(other));
        assert_ne!(own.digest(), uri(other).digest());
    }
    assert_ne!(uri("https://app.example"), uri("https://app.example/"));
    assert_ne!(
        uri("https://app.example/%aa"),
        uri("https://app.example/%AA")
    );
}

#[test]
fn a_callback_is_written_and_hashed_as_its_text() {
    let text = "http://localhost:3000/cb";
    let uri: RedirectUri = text.parse().unwrap();
    assert_eq!(uri.to_string(), text);
    assert_eq!(serde_json::to_value(&uri).unwrap(), text);
    assert_eq!(uri.digest(), Digest::of(text.as_bytes()));
    assert_eq!(String::from(uri), text);
    let url: AuthorizationUrl = text.parse().unwrap();
    assert_eq!(serde_json::to_value(&url).unwrap(), text);
}

#[test]
fn the_origin_of_a_callback_is_its_scheme_host_and_port() {
    #[track_caller]
    fn check(uri: &str, origin: &str) {
        let uri: RedirectUri = uri.parse().unwrap();
        assert_eq!(*uri.origin(), origin.parse().unwrap());
        assert_eq!(uri.origin().as_str(), origin);
    }
    check("https://app.example/a/b", "https://app.example");
    check("https://app.example", "https://app.example");
    check("https://app.example:8443/", "https://app.example:8443");
    check("http://localhost:3000/cb", "http://localhost:3000");
    check("http://[::1]:3000/cb", "http://[::1]:3000");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = text.parse::<RedirectUri>();
        let _ = format!("https://{text}").parse::<RedirectUri>();
        let _ = format!("http://localhost/{text}").parse::<RedirectUri>();
    }

    #[test]
    fn what_is_accepted_is_what_a_browser_would_write(
        text in "(https|http)://(app\\.example|localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]{1,5})?[ -~]{0,40}"
    ) {
        if let Ok(uri) = text.parse::<RedirectUri>() {
            let url = url::Url::parse(&text).unwrap();
            prop_assert!([text.clone(), text.clone() + "/"].contains(&url.to_string()));
            prop_assert_eq!(url.query(), None);
            prop_assert_eq!(url.fragment(), None);
            prop_assert_eq!(url.username(), "");
            // Its origin never panics and is one of ours.
            let _ = uri.origin();
        }
    }
}
