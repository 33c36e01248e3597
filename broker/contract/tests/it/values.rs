//! The values: what each type accepts, what it refuses, and how it is written.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use contract::{
    AccessToken, ClientId, ClientSecret, CodeChallenge, CodeVerifier, Digest, GrantType,
    HandoffCode, LoginError, LoginLifetime, Malformed, Origin, PresentedClientId, Provider,
    RedirectUri, SessionKey, State, TokenLifetime,
};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A type that is parsed from a text.
trait Text: FromStr<Err = Malformed> + TryFrom<String, Error = Malformed> + DeserializeOwned {}

impl<T> Text for T where
    T: FromStr<Err = Malformed> + TryFrom<String, Error = Malformed> + DeserializeOwned
{
}

/// Checks one text against one type, both as Rust and as JSON.
#[track_caller]
fn check<T: Text>(text: &str, is_accepted: bool) {
    let parsed = text.parse::<T>().map(drop);
    assert_eq!(parsed.is_ok(), is_accepted, "{text:?}");
    assert_eq!(T::try_from(text.to_owned()).map(drop), parsed, "{text:?}");
    let from_json = serde_json::from_value::<T>(Value::from(text)).map(drop);
    let sentence = parsed.map_err(|Malformed(rule)| rule.sentence().to_owned());
    assert_eq!(from_json.map_err(|it| it.to_string()), sentence, "{text:?}");
}

/// Checks the lengths that a type accepts, in characters of one byte and of four.
#[track_caller]
fn check_lengths<T: Text>(least: usize, most: usize) {
    for filler in ["a", "é", "語", "🦀"] {
        for count in [0, 1, 2, most - 1, most, most + 1, 2 * most] {
            check::<T>(&filler.repeat(count), (least..=most).contains(&count));
        }
    }
}

/// Checks the lengths of a pattern, and that of all characters exactly the letters, the
/// digits and `others` are accepted, at its start and at its end.
#[track_caller]
fn check_pattern<T: Text>(prefix: &str, least: usize, most: usize, others: &str) {
    for length in [0, 1, least - 1, least, most, most + 1] {
        let is_accepted = (least..=most).contains(&length);
        check::<T>(&format!("{prefix}{}", "a".repeat(length)), is_accepted);
    }
    let rest = "a".repeat(least - 1);
    for c in (0..0x250).filter_map(char::from_u32).chain(['语']) {
        let is_accepted = c.is_ascii_alphanumeric() || others.contains(c);
        check::<T>(&format!("{prefix}{c}{rest}"), is_accepted);
        check::<T>(&format!("{prefix}{rest}{c}"), is_accepted);
        check::<T>(&format!("{prefix}{}{c}", "a".repeat(most)), false);
    }
    // 43 bytes that are fewer characters.
    check::<T>(&format!("{prefix}{}é", "a".repeat(least - 2)), false);
}

#[test]
fn lengths_are_counted_in_characters_not_in_bytes() {
    check_lengths::<ClientId>(1, 100);
    check_lengths::<PresentedClientId>(0, 100);
    check_lengths::<ClientSecret>(1, 200);
    check_lengths::<HandoffCode>(1, 200);
}

// Threats: A6.
#[test]
fn keys_are_43_characters_of_base64url_and_a_verifier_43_to_128_unreserved_ones() {
    check_pattern::<SessionKey>("", 43, 43, "-_");
    check_pattern::<State>("", 43, 43, "-_");
    check_pattern::<CodeChallenge>("", 43, 43, "-_");
    check_pattern::<AccessToken>("fsi_", 43, 43, "-_");
    check_pattern::<CodeVerifier>("", 43, 128, "-_.~");
}

#[test]
fn keys_that_differ_only_in_bits_no_decoder_reads_are_different_keys() {
    // 43 characters hold 258 bits; an encoder of 32 bytes leaves the last two 0.
    let key = |last: &str| -> SessionKey { format!("{}{last}", "A".repeat(42)).parse().unwrap() };
    assert_ne!(key("A").digest(), key("B").digest());
}

#[test]
fn an_access_token_begins_with_its_prefix_and_nothing_else() {
    let body = "aZ09_-".repeat(8)[..43].to_owned();
    check::<AccessToken>(&format!("fsi_{body}"), true);
    for prefix in ["", "fsi", "FSI_", "gho_", " fsi_", "fsi_fsi_"] {
        check::<AccessToken>(&format!("{prefix}{body}"), false);
    }
}

/// Checks an enumeration that is written as `words`, and not as `others`, with bars between
/// them.
#[track_caller]
fn check_words<T>(values: &[T], words: &str, others: &str)
where
    T: DeserializeOwned + serde::Serialize,
{
    let written: Vec<_> = words.split('|').collect();
    assert_eq!(json!(values), json!(written));
    let read = serde_json::from_value::<Vec<T>>(json!(written));
    assert_eq!(json!(read.unwrap()), json!(written));
    for other in others.split('|') {
        assert!(
            serde_json::from_value::<T>(json!(other)).is_err(),
            "{other}"
        );
    }
}

#[test]
fn providers_grant_types_and_errors_are_exactly_their_words() {
    let (words, others) = (
        "google|github",
        "|Google|GitHub|gitlab|google | github|google\0|ɡoogle",
    );
    check_words(&Provider::ALL, words, others);
    words.split('|').for_each(|it| check::<Provider>(it, true));
    others
        .split('|')
        .for_each(|it| check::<Provider>(it, false));
    assert_eq!(Provider::ALL, [Provider::Google, Provider::GitHub]);
    assert_eq!(Provider::ALL.map(Provider::as_str).join("|"), words);
    assert_eq!(Provider::ALL.map(|it| it.to_string()).join("|"), words);
    let names = Provider::ALL.map(Provider::display_name);
    assert_eq!(names, ["Google", "GitHub"]);

    let others = "|Authorization_code|authorization_code |refresh_token|password";
    check_words(
        &[GrantType::AuthorizationCode],
        "authorization_code",
        others,
    );

    let words = "access_denied|invalid_provider_response|provider_unavailable";
    check_words(&LoginError::ALL, words, "AccessDenied|server_error");
    assert_eq!(LoginError::ALL.map(LoginError::as_str).join("|"), words);
}

#[test]
fn a_login_lives_600_seconds_and_a_token_900_and_no_other_number_is_read() {
    assert_eq!((LoginLifetime::SECONDS, LoginLifetime::MS), (600, 600_000));
    assert_eq!((TokenLifetime::SECONDS, TokenLifetime::MS), (900, 900_000));
    assert_eq!(
        json!([LoginLifetime {}, TokenLifetime {}]),
        json!([600, 900])
    );
    for json in "600 900 599 601 0 -600 600.0 \"600\" null 4294967896".split(' ') {
        let login = serde_json::from_str::<LoginLifetime>(json).is_ok();
        let token = serde_json::from_str::<TokenLifetime>(json).is_ok();
        assert_eq!((login, token), (json == "600", json == "900"), "{json}");
    }
}

// Threats: A11.
#[test]
fn a_random_value_fits_its_pattern_and_contains_every_byte() {
    #[track_caller]
    fn check<T: FromStr<Err = Malformed>>(text: &str, prefix: &str) {
        assert!(text.parse::<T>().is_ok(), "{text}");
        assert_eq!(
            base64url(text.strip_prefix(prefix).unwrap()),
            BYTES,
            "{text}"
        );
    }
    check::<SessionKey>(SessionKey::from_random(&BYTES).expose(), "");
    check::<ClientSecret>(ClientSecret::from_random(&BYTES).expose(), "");
    check::<State>(State::from_random(&BYTES).expose(), "");
    check::<CodeVerifier>(CodeVerifier::from_random(&BYTES).expose(), "");
    check::<HandoffCode>(HandoffCode::from_random(&BYTES).expose(), "");
    check::<AccessToken>(AccessToken::from_random(&BYTES).expose(), "fsi_");
}

const BYTES: [u8; 32] = [
    0xFB, 0xFF, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 30, 31,
];

fn base64url(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(text)
        .unwrap()
}

#[test]
fn a_state_matches_itself_and_nothing_else() {
    let state = |text: String| -> State { text.parse().unwrap() };
    let own = state("s".repeat(43));
    assert!(own.matches(&state("s".repeat(43))));
    for other in [
        format!("{}t", "s".repeat(42)),
        format!("t{}", "s".repeat(42)),
        "S".repeat(43),
    ] {
        assert!(!own.matches(&state(other)));
    }
}

#[test]
fn a_value_that_is_no_secret_is_printed_unchanged() {
    #[track_caller]
    fn check<T>(text: &str, as_str: impl Fn(&T) -> &str)
    where
        T: FromStr<Err = Malformed> + Display + Debug + serde::Serialize + Into<String>,
    {
        let value: T = text.parse().unwrap();
        assert_eq!(as_str(&value), text);
        assert_eq!(value.to_string(), text);
        assert_eq!(serde_json::to_value(&value).unwrap(), text);
        assert!(format!("{value:?}").contains(text));
        assert_eq!(Into::<String>::into(value), text);
    }
    check("prj_ada", ClientId::as_str);
    check("prj_ada", PresentedClientId::as_str);
    check(
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        CodeChallenge::as_str,
    );
}

/// FIPS 180-2, appendix B.1: the SHA-256 of "abc".
const ABC: &str = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";

// Threats: CVE-2023-48309.
#[test]
fn a_digest_is_sha_256_of_its_purpose_a_separator_and_the_secret() {
    assert_eq!(Digest::of(b"abc").to_text(), ABC);
    assert_eq!(Digest::derive("ab", b"c"), Digest::of(b"ab\x1Fc"));
    assert_ne!(Digest::derive("ab", b"c"), Digest::derive("a", b"bc"));
    assert_ne!(Digest::derive("", b"abc"), Digest::of(b"abc"));
}

#[test]
fn the_text_of_a_digest_is_canonical_base64url() {
    let [short, long] = [&ABC[..42], &format!("{ABC}A")];
    let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let [padded, of_base64] = [&format!("{ABC}="), &ABC.replace('-', "+")];
    let with_spare_bits = &format!("{short}1");
    for text in ["", short, long, padded, of_base64, with_spare_bits, hex] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
}

proptest! {
    // Threats: RAUTHY-006.
    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>()) {
        let _ = text.parse::<ClientId>();
        let _ = text.parse::<ClientSecret>();
        let _ = text.parse::<SessionKey>();
        let _ = text.parse::<CodeVerifier>();
        let _ = text.parse::<AccessToken>();
        let _ = text.parse::<Provider>();
        let _ = text.parse::<Digest>();
        for text in [format!("https://{text}"), format!("http://localhost/{text}"), text] {
            let _ = text.parse::<RedirectUri>();
            let _ = text.parse::<Origin>();
        }
    }

    #[test]
    fn every_text_of_the_pattern_is_a_code_verifier_with_a_challenge_of_its_own(
        text in "[A-Za-z0-9._~-]{43,128}"
    ) {
        let verifier: CodeVerifier = text.parse().unwrap();
        prop_assert_eq!(verifier.expose(), &text);
        let challenge = base64url(verifier.challenge().as_str());
        prop_assert_eq!(challenge, Digest::of(text.as_bytes()).as_bytes().to_vec());
    }

    // Threats: A13, d91abd90, RAUTHY-005.
    #[test]
    fn a_digest_comes_back_from_its_text_and_equals_no_other(
        bytes in any::<[u8; 32]>(), at in 0..32_usize, flip in 1..=255_u8
    ) {
        let digest = Digest::from_bytes(bytes);
        prop_assert_eq!(digest.to_text().len(), 43);
        prop_assert_eq!(digest.to_text().parse::<Digest>(), Ok(digest));
        prop_assert_eq!(digest.as_bytes(), &bytes);
        let mut other = bytes;
        other[at] ^= flip;
        prop_assert!(digest != Digest::from_bytes(other));
    }
}
