//! The bounded strings: their lengths in characters, and their patterns.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use contract::{
    AccessToken, ClientId, ClientSecret, CodeChallenge, CodeVerifier, GrantType, HandoffCode,
    LoginError, Malformed, PresentedClientId, Provider, Rule, SessionKey, State,
};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Checks one text against one type, both as Rust and as JSON.
#[track_caller]
fn check<T>(text: &str, expected: Result<(), Rule>)
where
    T: FromStr<Err = Malformed> + TryFrom<String, Error = Malformed> + DeserializeOwned,
{
    let expected = expected.map_err(Malformed);
    assert_eq!(text.parse::<T>().map(drop), expected, "{text:?}");
    assert_eq!(T::try_from(text.to_owned()).map(drop), expected, "{text:?}");
    let from_json = serde_json::from_value::<T>(Value::from(text));
    match expected {
        Ok(()) => assert!(from_json.is_ok(), "{text:?} in JSON"),
        Err(Malformed(rule)) => assert_eq!(
            from_json.err().unwrap().to_string(),
            rule.sentence(),
            "{text:?} in JSON"
        ),
    }
}

/// Checks the lengths that a type accepts, in characters of one byte and of four.
#[track_caller]
fn check_lengths<T>(accepted: &[usize], refused: &[usize], rule: Rule)
where
    T: FromStr<Err = Malformed> + TryFrom<String, Error = Malformed> + DeserializeOwned,
{
    for filler in ["a", "é", "語", "🦀"] {
        for count in accepted {
            check::<T>(&filler.repeat(*count), Ok(()));
        }
        for count in refused {
            check::<T>(&filler.repeat(*count), Err(rule));
        }
    }
}

/// Checks a type that is 43 characters of `[A-Za-z0-9_-]`.
#[track_caller]
fn check_key_pattern<T>(rule: Rule)
where
    T: FromStr<Err = Malformed> + TryFrom<String, Error = Malformed> + DeserializeOwned,
{
    check::<T>(&"a".repeat(42), Err(rule));
    check::<T>(&"a".repeat(43), Ok(()));
    check::<T>(&"a".repeat(44), Err(rule));
    check::<T>("", Err(rule));
    for inside in ["A", "Z", "a", "z", "0", "9", "-", "_"] {
        check::<T>(&inside.repeat(43), Ok(()));
        check::<T>(&format!("{inside}{}", "a".repeat(42)), Ok(()));
        check::<T>(&format!("{}{inside}", "a".repeat(42)), Ok(()));
    }
    // The neighbours of each range in ASCII, and what other alphabets would use.
    for outside in [
        "@", "[", "`", "{", "/", ":", ".", "~", "+", "=", ",", "^", " ", "\n", "\0", "\u{7f}",
    ] {
        check::<T>(&format!("{}{outside}", "a".repeat(42)), Err(rule));
        check::<T>(&format!("{outside}{}", "a".repeat(42)), Err(rule));
        check::<T>(&format!("{}{outside}", "a".repeat(43)), Err(rule));
    }
    // 43 characters that are more bytes, and 43 bytes that are fewer characters.
    check::<T>(&format!("{}é", "a".repeat(42)), Err(rule));
    check::<T>(&format!("{}é", "a".repeat(41)), Err(rule));
    check::<T>(&"语".repeat(43), Err(rule));
}

#[test]
fn a_client_id_has_1_to_100_characters_not_bytes() {
    check_lengths::<ClientId>(&[1, 2, 99, 100], &[0, 101, 200], Rule::ClientIdLength);
}

#[test]
fn a_client_id_at_the_token_endpoint_may_be_empty() {
    check_lengths::<PresentedClientId>(&[0, 1, 99, 100], &[101, 200], Rule::ClientIdLength);
}

#[test]
fn a_client_secret_has_1_to_200_characters_not_bytes() {
    check_lengths::<ClientSecret>(&[1, 2, 199, 200], &[0, 201, 400], Rule::ClientSecretLength);
}

#[test]
fn a_code_has_1_to_200_characters_not_bytes() {
    check_lengths::<HandoffCode>(&[1, 2, 199, 200], &[0, 201, 400], Rule::HandoffCodeLength);
}

#[test]
fn a_session_key_is_43_characters_of_base64url() {
    check_key_pattern::<SessionKey>(Rule::SessionKeyPattern);
}

#[test]
fn a_state_is_43_characters_of_base64url() {
    check_key_pattern::<State>(Rule::StatePattern);
}

// Threats: A6.
#[test]
fn a_code_challenge_is_43_characters_of_base64url() {
    check_key_pattern::<CodeChallenge>(Rule::CodeChallengePattern);
}

#[test]
fn a_last_character_that_no_encoder_writes_is_still_of_the_pattern() {
    // 43 characters hold 258 bits; an encoder of 32 bytes leaves the last two 0.
    for last in ["B", "C", "D", "_", "9"] {
        let text = format!("{}{last}", "A".repeat(42));
        check::<SessionKey>(&text, Ok(()));
        check::<State>(&text, Ok(()));
        check::<CodeChallenge>(&text, Ok(()));
    }
}

#[test]
fn keys_that_differ_only_in_bits_no_decoder_reads_are_different_keys() {
    let key = |last: &str| -> SessionKey { format!("{}{last}", "A".repeat(42)).parse().unwrap() };
    assert_ne!(key("A").digest(), key("B").digest());
}

#[test]
fn a_code_verifier_is_43_to_128_unreserved_characters() {
    let rule = Rule::CodeVerifierPattern;
    for (length, expected) in [
        (0, Err(rule)),
        (1, Err(rule)),
        (42, Err(rule)),
        (43, Ok(())),
        (44, Ok(())),
        (127, Ok(())),
        (128, Ok(())),
        (129, Err(rule)),
    ] {
        check::<CodeVerifier>(&"a".repeat(length), expected);
    }
    for inside in ["A", "Z", "a", "z", "0", "9", "-", "_", ".", "~"] {
        check::<CodeVerifier>(&inside.repeat(43), Ok(()));
        check::<CodeVerifier>(&inside.repeat(128), Ok(()));
    }
    for outside in [
        "@", "[", "`", "{", "/", ":", "}", "+", "=", " ", "!", "*", "'", "%", "\n", "é",
    ] {
        check::<CodeVerifier>(&format!("{}{outside}", "a".repeat(50)), Err(rule));
        check::<CodeVerifier>(&format!("{outside}{}", "a".repeat(50)), Err(rule));
    }
}

#[test]
fn an_access_token_is_a_prefix_an_underscore_and_43_characters() {
    let rule = Rule::BearerShape;
    let body = "aZ09_-".repeat(8)[..43].to_owned();
    check::<AccessToken>(&format!("fsi_{body}"), Ok(()));
    check::<AccessToken>(&format!("fsi_{}", &body[..42]), Err(rule));
    check::<AccessToken>(&format!("fsi_{body}a"), Err(rule));
    check::<AccessToken>(&format!("fsi_{}.", &body[..42]), Err(rule));
    check::<AccessToken>(&format!("fsi_{}=", &body[..42]), Err(rule));
    check::<AccessToken>(&format!("fsi{body}"), Err(rule));
    check::<AccessToken>(&format!("FSI_{body}"), Err(rule));
    check::<AccessToken>(&format!("gho_{body}"), Err(rule));
    check::<AccessToken>(&format!(" fsi_{body}"), Err(rule));
    check::<AccessToken>(&format!("fsi_{body} "), Err(rule));
    check::<AccessToken>(&format!("fsi_fsi_{body}"), Err(rule));
    check::<AccessToken>(&body, Err(rule));
    check::<AccessToken>("fsi_", Err(rule));
    check::<AccessToken>("", Err(rule));
}

#[test]
fn a_provider_is_google_or_github_in_lower_case() {
    check::<Provider>("google", Ok(()));
    check::<Provider>("github", Ok(()));
    for other in [
        "", "Google", "GOOGLE", "GitHub", "gitlab", "google ", " github", "google\0", "ɡoogle",
    ] {
        let expected = Err(Malformed(Rule::ProviderKnown));
        assert_eq!(other.parse::<Provider>(), expected, "{other:?}");
        assert!(serde_json::from_value::<Provider>(json!(other)).is_err());
    }
}

#[test]
fn both_providers_are_listed_google_first_and_written_as_they_are_read() {
    assert_eq!(Provider::ALL, [Provider::Google, Provider::GitHub]);
    for (provider, word, name) in [
        (Provider::Google, "google", "Google"),
        (Provider::GitHub, "github", "GitHub"),
    ] {
        assert_eq!(provider.as_str(), word);
        assert_eq!(provider.to_string(), word);
        assert_eq!(provider.display_name(), name);
        assert_eq!(serde_json::to_value(provider).unwrap(), word);
        assert_eq!(word.parse(), Ok(provider));
    }
}

#[test]
fn no_other_grant_type_exists() {
    let parse = |text: &str| GrantType::try_from(text.to_owned());
    assert_eq!(
        parse("authorization_code"),
        Ok(GrantType::AuthorizationCode)
    );
    for other in [
        "",
        "Authorization_code",
        "authorization_code ",
        "refresh_token",
        "client_credentials",
        "password",
    ] {
        assert_eq!(parse(other), Err(Malformed(Rule::GrantTypeConstant)));
    }
    assert_eq!(
        serde_json::to_value(GrantType::AuthorizationCode).unwrap(),
        "authorization_code"
    );
}

#[test]
fn a_login_fails_in_one_of_three_words() {
    let words = [
        "access_denied",
        "invalid_provider_response",
        "provider_unavailable",
    ];
    assert_eq!(LoginError::ALL.map(LoginError::as_str), words);
    for (error, word) in LoginError::ALL.into_iter().zip(words) {
        assert_eq!(serde_json::to_value(error).unwrap(), word);
        assert_eq!(
            serde_json::from_value::<LoginError>(json!(word)).unwrap(),
            error
        );
    }
    assert!(serde_json::from_value::<LoginError>(json!("AccessDenied")).is_err());
    assert!(serde_json::from_value::<LoginError>(json!("server_error")).is_err());
}

// Threats: A11.
#[test]
fn a_random_value_fits_its_pattern_and_contains_every_byte() {
    #[track_caller]
    fn check<T: FromStr<Err = Malformed>>(text: &str, prefix: &str) {
        assert!(text.parse::<T>().is_ok(), "{text}");
        let body = text.strip_prefix(prefix).unwrap();
        let decoded = base64url(body);
        assert_eq!(decoded, BYTES, "{text}");
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
fn the_challenge_is_the_one_of_rfc_7636_appendix_b() {
    let verifier: CodeVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        .parse()
        .unwrap();
    assert_eq!(
        verifier.challenge().as_str(),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}

#[test]
fn a_state_matches_itself_and_nothing_else() {
    let state = |text: String| -> State { text.parse().unwrap() };
    let own = state("s".repeat(43));
    assert!(own.matches(&state("s".repeat(43))));
    assert!(!own.matches(&state(format!("{}t", "s".repeat(42)))));
    assert!(!own.matches(&state(format!("t{}", "s".repeat(42)))));
    assert!(!own.matches(&state("S".repeat(43))));
}

#[test]
fn only_the_public_secret_is_for_development() {
    let secret = |text: &str| -> ClientSecret { text.parse().unwrap() };
    let known = contract::DEVELOPMENT_SECRET;
    assert!(secret(known).is_for_development());
    assert!(!secret(&known.to_uppercase()).is_for_development());
    assert!(!secret(&format!("{known} ")).is_for_development());
    assert!(!ClientSecret::from_random(&BYTES).is_for_development());
}

/// Checks that a value is printed unchanged.
#[track_caller]
fn check_printed<T>(text: &str)
where
    T: FromStr<Err = Malformed> + Display + Debug + Clone + serde::Serialize + Into<String>,
{
    let value: T = text.parse().unwrap();
    assert_eq!(value.to_string(), text);
    assert_eq!(serde_json::to_value(&value).unwrap(), text);
    assert!(format!("{value:?}").contains(text));
    let owned: String = value.into();
    assert_eq!(owned, text);
}

#[test]
fn a_value_that_is_no_secret_is_printed_unchanged() {
    check_printed::<ClientId>("prj_ada");
    check_printed::<PresentedClientId>("prj_ada");
    check_printed::<CodeChallenge>("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    assert_eq!("prj".parse::<ClientId>().unwrap().as_str(), "prj");
    assert_eq!("".parse::<PresentedClientId>().unwrap().as_str(), "");
}

proptest! {
    // Threats: RAUTHY-006.
    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>()) {
        let _ = text.parse::<ClientId>();
        let _ = text.parse::<PresentedClientId>();
        let _ = text.parse::<ClientSecret>();
        let _ = text.parse::<SessionKey>();
        let _ = text.parse::<HandoffCode>();
        let _ = text.parse::<CodeVerifier>();
        let _ = text.parse::<AccessToken>();
        let _ = text.parse::<Provider>();
        let _ = text.parse::<contract::Digest>();
    }

    #[test]
    fn a_client_id_is_taken_exactly_when_it_has_1_to_100_code_points(
        text in "\\PC{0,105}"
    ) {
        prop_assert_eq!(
            text.parse::<ClientId>().is_ok(),
            (1..=100).contains(&text.chars().count())
        );
    }

    #[test]
    fn every_text_of_the_pattern_is_a_session_key_and_comes_back_unchanged(
        text in "[A-Za-z0-9_-]{43}"
    ) {
        let key: SessionKey = text.parse().unwrap();
        prop_assert_eq!(key.expose(), &text);
        prop_assert_eq!(serde_json::to_value(&key).unwrap(), Value::from(text));
    }

    #[test]
    fn every_text_of_the_pattern_is_a_code_verifier_with_a_challenge_of_its_own(
        text in "[A-Za-z0-9._~-]{43,128}"
    ) {
        let verifier: CodeVerifier = text.parse().unwrap();
        prop_assert_eq!(verifier.expose(), &text);
        prop_assert_eq!(
            base64url(verifier.challenge().as_str()),
            contract::Digest::of(text.as_bytes()).as_bytes().to_vec()
        );
    }
}
