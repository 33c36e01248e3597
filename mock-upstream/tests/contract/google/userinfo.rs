//! Google's userinfo and tokeninfo endpoints.

use mock_upstream::{Misbehaviour, Next};
use serde_json::json;

use crate::test_mock::{CLIENT_ID, GOOGLE, Response, TestMock, authorization, seed_account};

const ADA: &str = "100000000000000000001";

/// The addresses of userinfo, and whether its members have their older names there: the
/// generated client of the oauth2 API (googleapis) has the members of v2.
const ADDRESSES: [(&str, bool); 4] = [
    ("/v1/userinfo", false),
    ("/oauth2/v1/userinfo", true),
    ("/oauth2/v2/userinfo", true),
    ("/oauth2/v3/userinfo", false),
];

// passport-google-oauth20 calls v3, with the token in the query.
#[tokio::test]
async fn userinfo_describes_the_user_of_the_token_until_it_expires() {
    let mock = TestMock::new().await;
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    for (path, is_older) in ADDRESSES {
        let (id, verified) = match is_older {
            true => ("id", "verified_email"),
            false => ("sub", "email_verified"),
        };
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
    for misbehaviour in [
        Misbehaviour::BadSignature,
        Misbehaviour::UnknownKid,
        Misbehaviour::NoKid,
        Misbehaviour::AlgNone,
        Misbehaviour::AlgHs256,
        Misbehaviour::AlgEs256,
        Misbehaviour::StaleKeys,
    ] {
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
    let token = mock.sign_in(GOOGLE).await.text("access_token");
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
    let params = authorization(GOOGLE).changed("scope=openid; access_type=offline");
    let token = mock
        .sign_in_with(GOOGLE, &params)
        .await
        .text("access_token");
    let info = tokeninfo(&mock, "access_token", &token).await;
    let members = "access_type aud azp exp expires_in scope sub";
    assert_eq!(info.members(), members);
    assert_eq!(info.text("access_type"), "offline");
}
