//! Google's ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use mock_upstream::settings::IssuerForm;
use mock_upstream::{Next, User};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::GOOGLE;
use crate::test_mock::{CLIENT_ID, NONCE, TestMock, authorization, redemption, seed_account};

/// The claims, once the signature was verified with a published key.
pub(crate) async fn verified(mock: &TestMock, token: &str) -> Result<Value, String> {
    let url = format!("{}/oauth2/v3/certs", mock.upstreams.google().url());
    let keys = mock.get(&url).await.json();
    let kid = decode_header(token).unwrap().kid.unwrap();
    let mut published = keys["keys"].as_array().unwrap().iter();
    let key = published
        .find(|key| key["kid"] == kid)
        .ok_or("no such key")?;
    let (n, e) = (key["n"].as_str().unwrap(), key["e"].as_str().unwrap());
    let key = DecodingKey::from_rsa_components(n, e).unwrap();
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_audience(&[CLIENT_ID]);
    // The mock has its own clock.
    validation.validate_exp = false;
    let token = decode::<Value>(token, &key, &validation).map_err(|error| error.to_string())?;
    Ok(token.claims)
}

pub(crate) fn at_hash(access_token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(access_token)[..16])
}

async fn claims_of(user: User) -> Value {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(user));
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    verified(&mock, &token).await.unwrap()
}

// Discovery documents: RS256, a kid of 40 hexadecimal digits.
#[tokio::test]
async fn an_id_token_is_signed_with_rs256_by_a_published_key() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let header = decode_header(&token).unwrap();
    assert_eq!(header.alg, Algorithm::RS256);
    // Not confirmed.
    assert_eq!(header.typ.as_deref(), Some("JWT"));
    assert_eq!(header.kid.unwrap().len(), 40);
    verified(&mock, &token).await.unwrap();
}

// Claims: TokenPayload of google-auth-library.
#[tokio::test]
async fn the_default_user_has_every_claim() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in(GOOGLE).await;
    let claims = verified(&mock, &answer.text("id_token")).await.unwrap();
    let now = mock.now_ms() / 1000;
    assert_eq!(claims["iss"], mock.upstreams.google().url());
    assert_eq!(claims["aud"], CLIENT_ID);
    assert_eq!(claims["azp"], CLIENT_ID);
    assert_eq!(claims["sub"], "100000000000000000001");
    assert_eq!(claims["email"], "ada@people.example");
    assert_eq!(claims["email_verified"], true);
    assert_eq!(claims["name"], "Ada Lovelace");
    assert_eq!(claims["given_name"], "Ada");
    assert_eq!(claims["family_name"], "Lovelace");
    assert_eq!(
        claims["picture"],
        "https://pictures.example/google/ada=s96-c"
    );
    assert_eq!(claims["nonce"], NONCE);
    assert_eq!(claims["iat"], now);
    assert_eq!(claims["exp"], now + 3600);
}

// OpenID Connect Core, section 3.1.3.6.
#[tokio::test]
async fn at_hash_is_the_left_half_of_the_access_tokens_digest() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in(GOOGLE).await;
    let claims = verified(&mock, &answer.text("id_token")).await.unwrap();
    assert_eq!(claims["at_hash"], at_hash(&answer.text("access_token")));
}

#[tokio::test]
async fn a_request_without_a_nonce_leads_to_a_token_without_one() {
    let mock = TestMock::new().await;
    let params = authorization(GOOGLE).without("nonce");
    let code = mock.code_for(GOOGLE, &params).await;
    let answer = mock.token(GOOGLE, &redemption(&code)).await;
    let claims = verified(&mock, &answer.text("id_token")).await.unwrap();
    assert_eq!(claims.get("nonce"), None);
}

#[tokio::test]
async fn a_scope_that_was_not_requested_adds_no_claims() {
    let mock = TestMock::new().await;
    let params = authorization(GOOGLE).with("scope", "openid");
    let code = mock.code_for(GOOGLE, &params).await;
    let answer = mock.token(GOOGLE, &redemption(&code)).await;
    let claims = verified(&mock, &answer.text("id_token")).await.unwrap();
    for claim in ["email", "email_verified", "name", "given_name", "picture"] {
        assert_eq!(claims.get(claim), None, "{claim}");
    }
}

// dexidp/dex: Google sometimes omits the name.
#[tokio::test]
async fn a_user_without_a_name_has_no_name_claims() {
    let claims = claims_of(seed_account(GOOGLE, "grace")).await;
    for claim in ["name", "given_name", "family_name"] {
        assert_eq!(claims.get(claim), None, "{claim}");
    }
}

#[tokio::test]
async fn a_user_without_an_address_has_no_email_claims() {
    let claims = claims_of(seed_account(GOOGLE, "hedy")).await;
    assert_eq!(claims.get("email"), None);
    assert_eq!(claims.get("email_verified"), None);
}

#[tokio::test]
async fn an_unverified_address_is_marked_unverified() {
    let claims = claims_of(seed_account(GOOGLE, "alan")).await;
    assert_eq!(claims["email_verified"], false);
}

#[tokio::test]
async fn a_name_in_any_script_is_unchanged() {
    let claims = claims_of(seed_account(GOOGLE, "musa")).await;
    assert_eq!(claims["name"], "محمد بن موسى الخوارزمي");
    let claims = claims_of(seed_account(GOOGLE, "zoe")).await;
    assert_eq!(claims["name"], "Zoë 👩🏽‍🚀 Stern");
}

// Google's reference: the older name "for legacy implementations".
#[tokio::test]
async fn the_issuer_can_lack_its_scheme() {
    let mock = TestMock::with(|settings| {
        settings.google.unconfirmed.google_id_token_issuer = IssuerForm::WithoutScheme;
    })
    .await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let claims = verified(&mock, &token).await.unwrap();
    let url = mock.upstreams.google().url();
    assert_eq!(url.strip_prefix("http://").unwrap(), claims["iss"]);
}

// Not confirmed.
#[tokio::test]
async fn the_header_can_lack_typ() {
    let mock =
        TestMock::with(|settings| settings.google.unconfirmed.google_id_token_typ = false).await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    assert_eq!(decode_header(&token).unwrap().typ, None);
    verified(&mock, &token).await.unwrap();
}

// TokenPayload of google-auth-library: only for Workspace accounts.
#[tokio::test]
async fn a_workspace_account_has_hd() {
    let claims = claims_of(seed_account(GOOGLE, "katherine")).await;
    assert_eq!(claims["hd"], "people.example");
    let claims = claims_of(seed_account(GOOGLE, "ada")).await;
    assert_eq!(claims.get("hd"), None);
}

// A Google account has no such setting.
#[tokio::test]
async fn email_private_changes_nothing_at_google() {
    let json = serde_json::json!({
        "id": "7",
        "email": "e@mail.example",
        "email_verified": true,
        "email_private": true,
    });
    let claims = claims_of(serde_json::from_value(json).unwrap()).await;
    assert_eq!(claims["email"], "e@mail.example");
    assert_eq!(claims["email_verified"], true);
}
