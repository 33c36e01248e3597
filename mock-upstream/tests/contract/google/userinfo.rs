//! Google's userinfo and tokeninfo endpoints.

use mock_upstream::{Misbehaviour, Next};
use reqwest::Method;
use serde_json::{Value, json};

use super::GOOGLE;
use crate::test_mock::{CLIENT_ID, Response, TestMock, authorization, redemption, seed_account};

const ADA: &str = "100000000000000000001";

fn url(mock: &TestMock, path: &str) -> String {
    format!("{}{path}", mock.upstreams.google().url())
}

pub(crate) async fn userinfo(mock: &TestMock, token: &str) -> Response {
    userinfo_at(mock, "/v1/userinfo", token).await
}

async fn userinfo_at(mock: &TestMock, path: &str, token: &str) -> Response {
    let request = mock.request(Method::GET, &url(mock, path));
    Response::of(request.bearer_auth(token)).await
}

#[tokio::test]
async fn userinfo_describes_the_user_of_the_token() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    let body = userinfo(&mock, &token).await.json();
    assert_eq!(body["sub"], ADA);
    assert_eq!(body["name"], "Ada Lovelace");
    assert_eq!(body["given_name"], "Ada");
    assert_eq!(body["email"], "ada@people.example");
    assert_eq!(body["email_verified"], true);
}

#[tokio::test]
async fn userinfo_refuses_an_expired_token() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    mock.advance_ms(3_598_999);
    assert_eq!(userinfo(&mock, &token).await.status, 200);
    mock.advance_ms(1);
    assert_eq!(userinfo(&mock, &token).await.status, 401);
}

// passport-google-oauth20 calls v3, with the token in the query.
#[tokio::test]
async fn userinfo_accepts_the_token_in_the_query_too() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    for path in ADDRESSES {
        let address = url(&mock, &format!("{path}?access_token={token}"));
        let response = mock.get(&address).await;
        assert_eq!(response.status, 200, "{path}");
        let none = mock.get(&url(&mock, path)).await;
        assert_eq!(none.status, 401, "{path}");
    }
    let journal = format!("{:?}", mock.upstreams.google().journal());
    assert!(!journal.contains(&token));
}

const ADDRESSES: [&str; 4] = [
    "/v1/userinfo",
    "/oauth2/v1/userinfo",
    "/oauth2/v2/userinfo",
    "/oauth2/v3/userinfo",
];

// The generated client of the oauth2 API (googleapis) has the members of v2.
#[tokio::test]
async fn the_first_two_versions_of_userinfo_have_older_member_names() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    for path in ["/oauth2/v1/userinfo", "/oauth2/v2/userinfo"] {
        let body = userinfo_at(&mock, path, &token).await.json();
        let expected = json!({
            "id": ADA,
            "email": "ada@people.example",
            "verified_email": true,
            "name": "Ada Lovelace",
            "given_name": "Ada",
            "family_name": "Lovelace",
            "picture": "https://pictures.example/google/ada=s96-c",
        });
        assert_eq!(body, expected, "{path}");
    }
}

#[tokio::test]
async fn the_third_version_of_userinfo_is_the_one_of_discovery() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    let third = userinfo_at(&mock, "/oauth2/v3/userinfo", &token).await;
    assert_eq!(third.json(), userinfo(&mock, &token).await.json());
}

async fn tokeninfo(mock: &TestMock, parameter: &str, token: &str) -> Response {
    let address = format!("/tokeninfo?{parameter}={token}");
    mock.get(&url(mock, &address)).await
}

// "Authenticate with a backend server": every claim as text. `alg`, `kid` and `typ`
// were seen by clients.
#[tokio::test]
async fn tokeninfo_shows_an_id_tokens_claims_as_text() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let body = tokeninfo(&mock, "id_token", &token).await.json();
    let now = mock.now_ms() / 1000;
    assert_eq!(body["iss"], mock.upstreams.google().url());
    assert_eq!(body["aud"], CLIENT_ID);
    assert_eq!(body["sub"], ADA);
    assert_eq!(body["email_verified"], "true");
    assert_eq!(body["exp"], (now + 3600).to_string());
    assert_eq!(body["alg"], "RS256");
    assert_eq!(body["kid"].as_str().unwrap().len(), 40);
    let journal = format!("{:?}", mock.upstreams.google().journal());
    assert!(!journal.contains(&token));
}

// Seen by clients.
#[track_caller]
fn assert_invalid(response: &Response) {
    response.assert_error(400, "invalid_token", "Invalid Value");
}

#[tokio::test]
async fn tokeninfo_refuses_an_expired_id_token() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    mock.advance_ms(3_599_999);
    assert_eq!(tokeninfo(&mock, "id_token", &token).await.status, 200);
    mock.advance_ms(1);
    assert_invalid(&tokeninfo(&mock, "id_token", &token).await);
}

#[tokio::test]
async fn tokeninfo_refuses_an_id_token_that_google_did_not_sign() {
    for misbehaviour in [
        Misbehaviour::BadSignature,
        Misbehaviour::UnknownKid,
        Misbehaviour::NoKid,
        Misbehaviour::AlgNone,
        Misbehaviour::AlgHs256,
        Misbehaviour::AlgEs256,
        Misbehaviour::StaleKeys,
    ] {
        let mock = TestMock::new().await;
        mock.queue(GOOGLE, Next::Misbehave(misbehaviour));
        let token = mock.sign_in(GOOGLE).await.text("id_token");
        assert_invalid(&tokeninfo(&mock, "id_token", &token).await);
    }
    let mock = TestMock::new().await;
    for token in ["", "x", "a.b.c", "e30.e30.e30"] {
        assert_invalid(&tokeninfo(&mock, "id_token", token).await);
    }
    assert_invalid(&mock.get(&url(&mock, "/tokeninfo")).await);
}

// The members were seen by clients.
#[tokio::test]
async fn tokeninfo_describes_an_access_token_and_its_expiry() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    let expires = mock.now_ms() / 1000 + 3599;
    mock.advance_ms(10_000);
    let body = tokeninfo(&mock, "access_token", &token).await.json();
    let expected = json!({
        "azp": CLIENT_ID,
        "aud": CLIENT_ID,
        "sub": ADA,
        "scope": "openid https://www.googleapis.com/auth/userinfo.email \
                  https://www.googleapis.com/auth/userinfo.profile",
        "exp": expires.to_string(),
        "expires_in": "3589",
        "email": "ada@people.example",
        "email_verified": "true",
        "access_type": "online",
    });
    assert_eq!(body, expected);
    mock.advance_ms(3_589_000);
    assert_invalid(&tokeninfo(&mock, "access_token", &token).await);
}

#[tokio::test]
async fn tokeninfo_shows_no_address_without_the_scope() {
    let mock = TestMock::new().await;
    let params = authorization(GOOGLE)
        .with("scope", "openid")
        .with("access_type", "offline");
    let code = mock.code_for(GOOGLE, &params).await;
    let answer = mock.token(GOOGLE, &redemption(&code)).await;
    let body = tokeninfo(&mock, "access_token", &answer.text("access_token")).await;
    let body = body.json();
    assert_eq!(body.get("email"), None);
    assert_eq!(body.get("email_verified"), None);
    assert_eq!(body["access_type"], "offline");
}

// An account without an address, as at the userinfo endpoint of discovery.
#[tokio::test]
async fn a_member_without_a_value_is_omitted() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(seed_account(GOOGLE, "hedy")));
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    let second: Value = userinfo_at(&mock, "/oauth2/v2/userinfo", &token)
        .await
        .json();
    assert_eq!(second.get("email"), None);
    assert_eq!(second.get("verified_email"), None);
}
