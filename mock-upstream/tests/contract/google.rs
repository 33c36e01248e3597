//! Google's ID token, and its userinfo and tokeninfo endpoints.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, decode_header};
use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, User};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::keys::verified;
use crate::test_mock::{CLIENT_ID, GOOGLE, NONCE, Response, TestMock, rows, seed_account};

const ADA: &str = "100000000000000000001";

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
        "sub": ADA,
        "email": "ada@people.example", "email_verified": true,
        "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
        "picture": "https://pictures.example/google/ada=s96-c",
        "nonce": NONCE, "at_hash": at_hash(&answer.text("access_token")),
        "iat": now, "exp": now + 3600,
    });
    assert_eq!(claims_in(&mock, &answer).await, expected);
}

/// The users, and a claim of theirs.
const ACCOUNTS: &str = include_str!("tables/google_claims.txt");

fn text(claims: &Value, claim: &str) -> String {
    let value = claims.get(claim);
    value.map_or("absent".to_owned(), Value::to_string)
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
        let answer = mock.sign_in_with(GOOGLE, changes).await;
        let claims = claims_in(&mock, &answer).await;
        for claim in absent.split(' ') {
            assert_eq!(text(&claims, claim), "absent", "{claim} for {changes}");
        }
    }
    let body = mock.sign_in_with(GOOGLE, "scope=email").await.json();
    assert_eq!(body.get("id_token"), None);
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

/// The addresses of userinfo, and the names of two members there: the generated client of the
/// oauth2 API (googleapis) has the members of v2.
const ADDRESSES: &str = "
    /v1/userinfo | sub | email_verified
    /oauth2/v1/userinfo | id | verified_email
    /oauth2/v2/userinfo | id | verified_email
    /oauth2/v3/userinfo | sub | email_verified
";

// passport-google-oauth20 calls v3, with the token in the query.
#[tokio::test]
async fn userinfo_describes_the_user_of_the_token_until_it_expires() {
    let mock = TestMock::new().await;
    let token = mock.access_token(GOOGLE).await;
    for [path, id, verified] in rows(ADDRESSES) {
        let expected = json!({
            id: ADA, "email": "ada@people.example", verified: true,
            "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
            "picture": "https://pictures.example/google/ada=s96-c",
        });
        let in_the_query = format!("{path}?access_token={token}");
        for response in [
            mock.get_with(&token, GOOGLE, path).await,
            mock.get(GOOGLE, &in_the_query).await,
        ] {
            assert_eq!(response.status, 200, "{path}");
            assert_eq!(response.json(), expected, "{path}");
        }
        assert_eq!(mock.get(GOOGLE, path).await.status, 401, "{path}");
    }
    let journal = format!("{:?}", mock.upstreams.google().journal());
    assert!(!journal.contains(&token));
    for (ms, status) in [(3_598_999, 200), (1, 401)] {
        mock.advance_ms(ms);
        let response = mock.get_with(&token, GOOGLE, "/v1/userinfo").await;
        assert_eq!(response.status, status);
    }
}

// An account without an address.
#[tokio::test]
async fn a_member_without_a_value_is_omitted() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in_as(GOOGLE, seed_account(GOOGLE, "hedy")).await;
    let token = answer.text("access_token");
    let info = mock.get_with(&token, GOOGLE, "/oauth2/v2/userinfo").await;
    assert_eq!(info.members(), "family_name given_name id name picture");
}

async fn tokeninfo(mock: &TestMock, parameter: &str, token: &str) -> Response {
    let path = format!("/tokeninfo?{parameter}={token}");
    mock.get(GOOGLE, &path).await
}

// "Authenticate with a backend server": every claim as text. `alg`, `kid` and `typ`
// were seen by clients, as was the error.
#[tokio::test]
async fn tokeninfo_shows_an_id_tokens_claims_as_text_until_it_expires() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let exp = (mock.now_ms() / 1000 + 3600).to_string();
    mock.advance_ms(3_599_999);
    let info = tokeninfo(&mock, "id_token", &token).await;
    for (claim, text) in [
        ("iss", mock.upstreams.google().url()),
        ("aud", CLIENT_ID),
        ("sub", ADA),
        ("email_verified", "true"),
        ("exp", &exp),
        ("alg", "RS256"),
        ("typ", "JWT"),
    ] {
        assert_eq!(info.text(claim), text, "{claim}");
    }
    assert_eq!(info.text("kid").len(), 40);
    mock.advance_ms(1);
    assert_invalid(&tokeninfo(&mock, "id_token", &token).await);
    let journal = format!("{:?}", mock.upstreams.google().journal());
    assert!(!journal.contains(&token));
}

#[track_caller]
fn assert_invalid(response: &Response) {
    assert_eq!(response.error(), "400 invalid_token: Invalid Value");
}

#[tokio::test]
async fn tokeninfo_refuses_an_id_token_that_google_did_not_sign() {
    let mock = TestMock::new().await;
    let all = Misbehaviour::of(GOOGLE).iter().copied();
    for misbehaviour in all.filter(|it| it.group() == Group::Signature) {
        mock.upstreams.reset();
        mock.queue(GOOGLE, Next::Misbehave(misbehaviour));
        let token = mock.sign_in(GOOGLE).await.text("id_token");
        assert_invalid(&tokeninfo(&mock, "id_token", &token).await);
    }
    for token in ["", "x", "a.b.c", "e30.e30.e30"] {
        assert_invalid(&tokeninfo(&mock, "id_token", token).await);
    }
    assert_invalid(&mock.get(GOOGLE, "/tokeninfo").await);
}

// The members were seen by clients.
#[tokio::test]
async fn tokeninfo_describes_an_access_token_and_its_expiry() {
    let mock = TestMock::new().await;
    let token = mock.access_token(GOOGLE).await;
    let expires = mock.now_ms() / 1000 + 3599;
    mock.advance_ms(10_000);
    let body = tokeninfo(&mock, "access_token", &token).await.json();
    let expected = json!({
        "azp": CLIENT_ID, "aud": CLIENT_ID, "sub": ADA,
        "scope": "openid https://www.googleapis.com/auth/userinfo.email \
                  https://www.googleapis.com/auth/userinfo.profile",
        "exp": expires.to_string(), "expires_in": "3589",
        "email": "ada@people.example", "email_verified": "true",
        "access_type": "online",
    });
    assert_eq!(body, expected);
    mock.advance_ms(3_589_000);
    assert_invalid(&tokeninfo(&mock, "access_token", &token).await);
}

#[tokio::test]
async fn tokeninfo_shows_no_address_without_the_scope() {
    let mock = TestMock::new().await;
    let answer = mock.sign_in_with(GOOGLE, "scope=openid; access_type=offline");
    let token = answer.await.text("access_token");
    let info = tokeninfo(&mock, "access_token", &token).await;
    let members = "access_type aud azp exp expires_in scope sub";
    assert_eq!(info.members(), members);
    assert_eq!(info.text("access_type"), "offline");
}
