//! `Debug` redacts every secret, alone and inside a request.

use std::fmt::Debug;

use contract::{
    AccessToken, AuthorizationUrl, ClientSecret, CodeVerifier, Digest, HandoffCode,
    LoginResultRequest, LoginSessionRequest, LoginSessionResponse, SessionKey, State, TokenRequest,
    TokenResponse, Transaction,
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

#[test]
fn a_secret_by_itself_is_redacted_under_its_own_name() {
    #[track_caller]
    fn check(value: &impl Debug, expected: &str) {
        assert_redacted(value, SECRET);
        assert_eq!(format!("{value:?}"), expected);
    }
    assert_eq!(SECRET.len(), 43);
    let secret: ClientSecret = SECRET.parse().unwrap();
    check(&secret, "ClientSecret([redacted])");
    let key: SessionKey = SECRET.parse().unwrap();
    check(&key, "SessionKey([redacted])");
    let state: State = SECRET.parse().unwrap();
    check(&state, "State([redacted])");
    let verifier: CodeVerifier = SECRET.parse().unwrap();
    check(&verifier, "CodeVerifier([redacted])");
    let code: HandoffCode = SECRET.parse().unwrap();
    check(&code, "HandoffCode([redacted])");
    let token: AccessToken = format!("fsi_{SECRET}").parse().unwrap();
    check(&token, "AccessToken([redacted])");
    let url: AuthorizationUrl = format!("https://b.example/login/{SECRET}").parse().unwrap();
    check(&url, "AuthorizationUrl([redacted])");
}

#[test]
fn a_digest_is_redacted_too() {
    let digest = Digest::of(SECRET.as_bytes());
    assert_redacted(&digest, &digest.to_text());
    assert_eq!(format!("{digest:?}"), "Digest(…)");
}

#[test]
fn a_request_shows_none_of_its_secrets() {
    let session: LoginSessionRequest = serde_json::from_value(json!({
        "client_id": "prj_ada", "client_secret": SECRET, "session_key": SECRET,
        "provider": "google", "redirect_uri": "https://app.example/cb",
    }))
    .unwrap();
    assert_redacted(&session, SECRET);
    let result: LoginResultRequest = serde_json::from_value(json!({
        "client_id": "prj_ada", "client_secret": SECRET, "session_key": SECRET,
        "redirect_uri": "https://app.example/cb",
    }))
    .unwrap();
    assert_redacted(&result, SECRET);
    let token: TokenRequest = serde_json::from_value(json!({
        "grant_type": "authorization_code", "client_id": "prj_ada", "client_secret": SECRET,
        "code": SECRET, "redirect_uri": "https://app.example/cb", "code_verifier": SECRET,
    }))
    .unwrap();
    assert_redacted(&token, SECRET);
}

#[test]
fn an_answer_and_a_transaction_show_none_of_their_secrets() {
    let session: LoginSessionResponse = serde_json::from_value(json!({
        "authorization_url": format!("https://b.example/login/{SECRET}"), "expires_in": 600,
    }))
    .unwrap();
    assert_redacted(&session, SECRET);
    assert_redacted(
        &TokenResponse::issuing(format!("fsi_{SECRET}").parse().unwrap()),
        SECRET,
    );
    let transaction = Transaction::begin(SECRET.parse().unwrap(), SECRET.parse().unwrap(), 0);
    assert_redacted(&transaction, SECRET);
}

#[test]
fn a_parser_that_refuses_a_secret_does_not_repeat_it() {
    let broken = format!("{SECRET}\u{1F980}");
    #[track_caller]
    fn check(error: impl ToString + Debug, broken: &str) {
        assert_redacted(&error, broken.trim_end_matches('\u{1F980}'));
        assert!(!error.to_string().contains(&broken[..8]));
    }
    check(broken.parse::<SessionKey>().unwrap_err(), &broken);
    check(broken.parse::<State>().unwrap_err(), &broken);
    check(broken.parse::<CodeVerifier>().unwrap_err(), &broken);
    check(broken.parse::<AccessToken>().unwrap_err(), &broken);
    check(
        broken.repeat(9).parse::<ClientSecret>().unwrap_err(),
        &broken,
    );
    check(
        broken.repeat(9).parse::<HandoffCode>().unwrap_err(),
        &broken,
    );
    check(broken.parse::<Digest>().unwrap_err(), &broken);
    check(
        serde_json::from_value::<SessionKey>(json!(broken)).unwrap_err(),
        &broken,
    );
}

#[test]
fn a_secret_still_crosses_the_wire_as_it_is() {
    let key: SessionKey = SECRET.parse().unwrap();
    assert_eq!(key.expose(), SECRET);
    assert_eq!(serde_json::to_value(&key).unwrap(), SECRET);
    assert_eq!(key.digest(), Digest::of(SECRET.as_bytes()));
}
