//! Google's userinfo and tokeninfo endpoints.

use mock_upstream::people::seeded;
use mock_upstream::{Misbehaviour, Next, Provider};
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{CLIENT_ID, Seen, World, authorization, redemption};

const GOOGLE: Provider = Provider::Google;

const ADA: &str = "100000000000000000001";

fn url(world: &World, path: &str) -> String {
    format!("{}{path}", world.mock.google().url())
}

pub(crate) async fn userinfo(world: &World, token: &str) -> Seen {
    userinfo_at(world, "/v1/userinfo", token).await
}

async fn userinfo_at(world: &World, path: &str, token: &str) -> Seen {
    let request = world.request(Method::GET, &url(world, path));
    Seen::of(request.bearer_auth(token)).await
}

#[tokio::test]
async fn userinfo_tells_who_the_token_belongs_to() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    let body = userinfo(&world, &token).await.json();
    assert_eq!(body["sub"], ADA);
    assert_eq!(body["name"], "Ada Lovelace");
    assert_eq!(body["given_name"], "Ada");
    assert_eq!(body["email"], "ada@people.example");
    assert_eq!(body["email_verified"], true);
}

#[tokio::test]
async fn userinfo_refuses_a_token_that_ended() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    world.advance_ms(3_599_000);
    assert_eq!(userinfo(&world, &token).await.status, 401);
}

// passport-google-oauth20 calls v3, with the token in the query.
#[tokio::test]
async fn userinfo_takes_the_token_from_the_query_too() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    for path in ADDRESSES {
        let address = url(&world, &format!("{path}?access_token={token}"));
        let seen = world.get(&address).await;
        assert_eq!(seen.status, 200, "{path}");
        let none = world.get(&url(&world, path)).await;
        assert_eq!(none.status, 401, "{path}");
    }
    let journal = format!("{:?}", world.mock.google().journal());
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
async fn the_first_two_versions_of_userinfo_have_names_of_their_own() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    for path in ["/oauth2/v1/userinfo", "/oauth2/v2/userinfo"] {
        let body = userinfo_at(&world, path, &token).await.json();
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
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    let third = userinfo_at(&world, "/oauth2/v3/userinfo", &token).await;
    assert_eq!(third.json(), userinfo(&world, &token).await.json());
}

async fn tokeninfo(world: &World, parameter: &str, token: &str) -> Seen {
    let address = format!("/tokeninfo?{parameter}={token}");
    world.get(&url(world, &address)).await
}

// "Authenticate with a backend server": every claim as text. `alg`, `kid` and `typ`
// were seen by clients.
#[tokio::test]
async fn tokeninfo_shows_an_id_tokens_claims_as_text() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    let body = tokeninfo(&world, "id_token", &token).await.json();
    let now = world.now_ms() / 1000;
    assert_eq!(body["iss"], world.mock.google().url());
    assert_eq!(body["aud"], CLIENT_ID);
    assert_eq!(body["sub"], ADA);
    assert_eq!(body["email_verified"], "true");
    assert_eq!(body["exp"], (now + 3600).to_string());
    assert_eq!(body["alg"], "RS256");
    assert_eq!(body["kid"].as_str().unwrap().len(), 40);
    let journal = format!("{:?}", world.mock.google().journal());
    assert!(!journal.contains(&token));
}

// Seen by clients.
#[track_caller]
fn assert_invalid(seen: &Seen) {
    seen.assert_error(400, "invalid_token", "Invalid Value");
}

#[tokio::test]
async fn tokeninfo_refuses_an_id_token_that_ended() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    world.advance_ms(3_599_999);
    assert_eq!(tokeninfo(&world, "id_token", &token).await.status, 200);
    world.advance_ms(1);
    assert_invalid(&tokeninfo(&world, "id_token", &token).await);
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
        let world = World::new().await;
        world.queue(GOOGLE, Next::Misbehave(misbehaviour));
        let token = world.sign_in(GOOGLE).await.text("id_token");
        assert_invalid(&tokeninfo(&world, "id_token", &token).await);
    }
    let world = World::new().await;
    for token in ["", "x", "a.b.c", "e30.e30.e30"] {
        assert_invalid(&tokeninfo(&world, "id_token", token).await);
    }
    assert_invalid(&world.get(&url(&world, "/tokeninfo")).await);
}

// The members were seen by clients.
#[tokio::test]
async fn tokeninfo_tells_what_an_access_token_opens_and_how_long() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    let ends = world.now_ms() / 1000 + 3599;
    world.advance_ms(10_000);
    let body = tokeninfo(&world, "access_token", &token).await.json();
    let expected = json!({
        "azp": CLIENT_ID,
        "aud": CLIENT_ID,
        "sub": ADA,
        "scope": "openid https://www.googleapis.com/auth/userinfo.email \
                  https://www.googleapis.com/auth/userinfo.profile",
        "exp": ends.to_string(),
        "expires_in": "3589",
        "email": "ada@people.example",
        "email_verified": "true",
        "access_type": "online",
    });
    assert_eq!(body, expected);
    world.advance_ms(3_589_000);
    assert_invalid(&tokeninfo(&world, "access_token", &token).await);
}

#[tokio::test]
async fn tokeninfo_shows_no_address_without_the_scope() {
    let world = World::new().await;
    let params = authorization(GOOGLE)
        .with("scope", "openid")
        .with("access_type", "offline");
    let code = world.code_for(GOOGLE, &params).await;
    let answer = world.token(GOOGLE, &redemption(&code)).await;
    let body = tokeninfo(&world, "access_token", &answer.text("access_token")).await;
    let body = body.json();
    assert_eq!(body.get("email"), None);
    assert_eq!(body.get("email_verified"), None);
    assert_eq!(body["access_type"], "offline");
}

// An account without an address, as at the userinfo endpoint of discovery.
#[tokio::test]
async fn a_member_that_the_account_does_not_have_is_left_out() {
    let world = World::new().await;
    let everybody = seeded();
    let hedy = everybody.iter().find(|known| known.key == "hedy");
    world.queue(GOOGLE, Next::Person(hedy.unwrap().at(GOOGLE).clone()));
    let token = world.sign_in(GOOGLE).await.text("access_token");
    let second: Value = userinfo_at(&world, "/oauth2/v2/userinfo", &token)
        .await
        .json();
    assert_eq!(second.get("email"), None);
    assert_eq!(second.get("verified_email"), None);
}
