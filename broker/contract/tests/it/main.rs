//! The contract against the tables of the specification: accepted values, refused values
//! with their rules, and the exact bytes of every response. Here are the secrets: `Debug`
//! redacts each (inside of a request: `published.rs`); none has `==`, because only its digest
//! or a comparison in constant time may compare it; and none that may be used only once has
//! `Clone`.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod addresses;
mod bodies;
mod published;
mod values;

use std::fmt::Debug;
use std::marker::PhantomData;

use contract::{
    AccessToken, AuthorizationUrl, ClientId, ClientSecret, CodeVerifier, Digest, HandoffCode,
    SessionKey, State,
};
use serde_json::json;

/// A text that shares no part with any type name or marker.
const SECRET: &str = "Q7x9Zk3vW1y5Jq8Xz2Vk6Wj4Yq0Xv7Zk9Qj1Wy3Vx5K";

/// Asserts that no four consecutive characters of `secret` are printed.
#[track_caller]
fn assert_redacted(value: &impl Debug, secret: &str) {
    for shown in [format!("{value:?}"), format!("{value:#?}")] {
        for part in secret.as_bytes().windows(4) {
            let part = std::str::from_utf8(part).unwrap();
            assert!(!shown.contains(part), "{shown} shows {part:?}");
        }
    }
}

/// The secrets of these types, with a text of each.
macro_rules! each_secret {
    ($check:ident) => {
        $check!(ClientSecret, SECRET.to_owned());
        $check!(SessionKey, SECRET.to_owned());
        $check!(State, SECRET.to_owned());
        $check!(CodeVerifier, SECRET.to_owned());
        $check!(HandoffCode, SECRET.to_owned());
        $check!(AccessToken, format!("fsi_{SECRET}"));
        $check!(
            AuthorizationUrl,
            format!("https://b.example/login/{SECRET}")
        );
    };
}

#[test]
fn a_secret_by_itself_is_redacted_under_its_own_name_and_crosses_the_wire_as_it_is() {
    macro_rules! check {
        ($secret:ident, $text:expr) => {
            let text = $text;
            let secret: $secret = text.parse().unwrap();
            assert_redacted(&secret, SECRET);
            let name = stringify!($secret);
            assert_eq!(format!("{secret:?}"), format!("{name}([redacted])"));
            assert_eq!(secret.expose(), text);
            assert_eq!(serde_json::to_value(&secret).unwrap(), text);
        };
    }
    each_secret!(check);
    let digest = Digest::of(SECRET.as_bytes());
    assert_redacted(&digest, &digest.to_text());
    assert_eq!(format!("{digest:?}"), "Digest(…)");
    let key: SessionKey = SECRET.parse().unwrap();
    assert_eq!(key.digest(), digest);
}

#[test]
fn a_parser_that_refuses_a_secret_does_not_repeat_it() {
    macro_rules! check {
        ($secret:ident, $text:expr) => {
            let broken = format!("{}\u{1F980}", $text.repeat(5));
            let error = broken.parse::<$secret>().unwrap_err();
            assert_redacted(&error, SECRET);
            assert!(!error.to_string().contains(&SECRET[..8]));
            let error = serde_json::from_value::<$secret>(json!(broken)).unwrap_err();
            assert_redacted(&error, SECRET);
        };
    }
    each_secret!(check);
    assert_redacted(&SECRET.repeat(2).parse::<Digest>().unwrap_err(), SECRET);
}

/// Detects the traits of `T`: an inherent constant takes precedence over that of a
/// trait, and exists only if its bound holds.
struct Traits<T: ?Sized>(PhantomData<T>);

trait Otherwise {
    const HAS_EQUALITY: bool = false;
    const IS_ANOTHER_TEXT: bool = false;
    const IS_CLONE: bool = false;
}

impl<T: ?Sized> Otherwise for Traits<T> {}

impl<T: PartialEq + ?Sized> Traits<T> {
    const HAS_EQUALITY: bool = true;
}

impl<T: AsRef<str> + ?Sized> Traits<T> {
    const IS_ANOTHER_TEXT: bool = true;
}

impl<T: Clone> Traits<T> {
    const IS_CLONE: bool = true;
}

// Threats: A13.
#[test]
fn no_secret_has_a_comparison_of_its_own_and_none_for_one_use_can_be_cloned() {
    macro_rules! check {
        ($secret:ident, $text:expr) => {
            const {
                assert!(!Traits::<$secret>::HAS_EQUALITY);
                assert!(!Traits::<$secret>::IS_ANOTHER_TEXT);
            }
        };
    }
    each_secret!(check);
    const {
        assert!(!Traits::<AccessToken>::IS_CLONE);
        assert!(!Traits::<AuthorizationUrl>::IS_CLONE);
        assert!(!Traits::<CodeVerifier>::IS_CLONE);
        assert!(!Traits::<HandoffCode>::IS_CLONE);
        // The detection works.
        assert!(Traits::<ClientId>::HAS_EQUALITY && Traits::<ClientId>::IS_CLONE);
        assert!(Traits::<String>::IS_ANOTHER_TEXT);
    }
}
