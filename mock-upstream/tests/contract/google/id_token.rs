//! Google's ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, decode, decode_header};
use mock_upstream::User;
use mock_upstream::settings::IssuerForm;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::keys::{key_set, validation};
use crate::test_mock::{
    CLIENT_ID, GOOGLE, NONCE, Response, TestMock, authorization, rows, seed_account,
};

/// The claims, once the signature was verified with the published key that the token names.
pub(crate) async fn verified(mock: &TestMock, token: &str) -> Value {
    let keys = key_set(mock).await.json();
    let kid = decode_header(token).unwrap().kid.unwrap();
    let mut published = keys["keys"].as_array().unwrap().iter();
    let key = published.find(|key| key["kid"] == kid).unwrap();
    decode(token, &rsa_key(key), &validation()).unwrap().claims
}

pub(crate) fn rsa_key(key: &Value) -> DecodingKey {
    let (n, e) = (key["n"].as_str().unwrap(), key["e"].as_str().unwrap());
    DecodingKey::from_rsa_components(n, e).unwrap()
}

/// OpenID Connect Core, section 3.1.3.6: the left half of the access token's digest.
pub(crate) fn at_hash(access_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(access_token)[..16])
}

async fn claims_in(mock: &TestMock, answer: &Response) -> Value {
    verified(mock, &answer.text("id_token")).await
}

async fn claims_of(user: User) -> Value {
    let mock = TestMock::new().await;
    let answer = mock.sign_in_as(GOOGLE, user).await;
    claims_in(&mock, &answer).await
}

// Discovery documents: RS256, a kid of 40 hexadecimal digits. `typ` is not confirmed.
// Claims: TokenPayload of google-auth-library.
#[tokio::test]
async fn an_id_token_is_signed_by_a_published_key_and_has_every_claim() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in(GOOGLE).await;
    let header = decode_header(answer.text("id_token")).unwrap();
    assert_eq!(header.alg, Algorithm::RS256);
    assert_eq!(header.typ.as_deref(), Some("JWT"));
    assert_eq!(header.kid.unwrap().len(), 40);
    let now = mock.now_ms() / 1000;
    let expected = json!({
        "iss": mock.url(GOOGLE, ""), "aud": CLIENT_ID, "azp": CLIENT_ID,
        "sub": "100000000000000000001",
        "email": "ada@people.example", "email_verified": true,
        "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
        "picture": "https://pictures.example/google/ada=s96-c",
        "nonce": NONCE, "at_hash": at_hash(&answer.text("access_token")),
        "iat": now, "exp": now + 3600,
    });
    assert_eq!(claims_in(&mock, &answer).await, expected);
}

/// The users, and a claim of theirs.
const ACCOUNTS: &str = r#"
    // dexidp/dex: Google sometimes omits the name.
    grace | name | absent
    grace | given_name | absent
    grace | family_name | absent
    hedy | email | absent
    hedy | email_verified | absent
    alan | email_verified | false
    musa | name | "محمد بن موسى الخوارزمي"
    zoe | name | "Zoë 👩🏽‍🚀 Stern"
    // TokenPayload of google-auth-library: only for Workspace accounts.
    katherine | hd | "people.example"
"#;

fn text(claims: &Value, claim: &str) -> String {
    claims
        .get(claim)
        .map_or("absent".to_owned(), Value::to_string)
}

#[tokio::test]
async fn a_claim_says_what_the_account_has_and_is_absent_without_it() {
    for [key, claim, expected] in rows(ACCOUNTS) {
        let claims = claims_of(seed_account(GOOGLE, key)).await;
        assert_eq!(text(&claims, claim), expected, "{claim} of {key}");
    }
}

/// The changes of the authorization request, and the claims that are then absent.
const NOT_REQUESTED: &str = "
    -nonce | nonce
    scope=openid | email email_verified name given_name family_name picture
    scope=openid email | name given_name family_name picture
    scope=openid profile | email email_verified
";

#[tokio::test]
async fn what_was_not_requested_is_in_no_token() {
    let mock = TestMock::new().await;
    for [changes, absent] in rows(NOT_REQUESTED) {
        let params = authorization(GOOGLE).changed(changes);
        let answer = mock.sign_in_with(GOOGLE, &params).await;
        let claims = claims_in(&mock, &answer).await;
        for claim in absent.split(' ') {
            assert_eq!(text(&claims, claim), "absent", "{claim} for {changes}");
        }
    }
    let params = authorization(GOOGLE).with("scope", "email");
    let body = mock.sign_in_with(GOOGLE, &params).await.json();
    assert_eq!(body.get("id_token"), None);
}

// Google's reference: the older issuer "for legacy implementations". Whether the header has
// `typ` is not confirmed.
#[tokio::test]
async fn the_issuer_can_lack_its_scheme_and_the_header_its_typ() {
    let mock = TestMock::with(|settings| {
        settings.google.unconfirmed.google_id_token_issuer = IssuerForm::WithoutScheme;
        settings.google.unconfirmed.google_id_token_typ = false;
    });
    let mock = mock.await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let issuer = mock.url(GOOGLE, "").replace("http://", "");
    assert_eq!(verified(&mock, &token).await["iss"], issuer);
    assert_eq!(decode_header(&token).unwrap().typ, None);
}

// A Google account has no such setting.
#[tokio::test]
async fn email_private_changes_nothing_at_google() {
    let json = json!({
        "id": "7", "email": "e@mail.example", "email_verified": true, "email_private": true,
    });
    let claims = claims_of(serde_json::from_value(json).unwrap()).await;
    assert_eq!(claims["email"], "e@mail.example");
    assert_eq!(claims["email_verified"], true);
}
