//! What is odd about a person, at both providers.

use mock_upstream::{Misbehaviour, Provider};
use reqwest::Method;
use serde_json::Value;

use super::{GITHUB, GOOGLE, world_with};
use crate::google_id_token::verified;
use crate::world::{Seen, World};

/// Name, address and picture as the provider tells them.
struct Told {
    name: Value,
    email: Value,
    picture: Value,
}

async fn told(provider: Provider, misbehaviour: Misbehaviour) -> Told {
    let world = world_with(provider, misbehaviour).await;
    let answer = world.sign_in(provider).await;
    match provider {
        Provider::Google => {
            let claims = verified(&world, &answer.text("id_token")).await.unwrap();
            Told {
                name: claims["name"].clone(),
                email: claims["email"].clone(),
                picture: claims["picture"].clone(),
            }
        }
        Provider::GitHub => {
            let token = answer.text("access_token");
            let user = look(&world, "/user", &token).await;
            Told {
                name: user["name"].clone(),
                email: look(&world, "/user/emails", &token).await[0]["email"].clone(),
                picture: user["avatar_url"].clone(),
            }
        }
    }
}

async fn look(world: &World, path: &str, token: &str) -> Value {
    let url = format!("{}{path}", world.mock.github().url());
    let request = world.request(Method::GET, &url).bearer_auth(token);
    Seen::of(request.header("user-agent", "contract"))
        .await
        .json()
}

#[tokio::test]
async fn an_address_may_have_two_at_signs() {
    for provider in [GOOGLE, GITHUB] {
        let told = told(provider, Misbehaviour::EmailTwoAts).await;
        assert_eq!(told.email, "ada@evil.example@people.example");
    }
}

#[tokio::test]
async fn a_name_may_be_anything() {
    for provider in [GOOGLE, GITHUB] {
        for (misbehaviour, name) in [
            (Misbehaviour::NameBidi, "Ada \u{202e}ecalevoL".to_owned()),
            (Misbehaviour::NameNul, "Ada\0 Lovelace".to_owned()),
            (Misbehaviour::NameLong, "A".repeat(10_000)),
        ] {
            assert_eq!(told(provider, misbehaviour).await.name, name);
        }
    }
}

#[tokio::test]
async fn a_picture_may_be_any_url() {
    for provider in [GOOGLE, GITHUB] {
        for (misbehaviour, picture) in [
            (Misbehaviour::AvatarJavascript, "javascript:alert(1)"),
            (Misbehaviour::AvatarHttp, "http://pictures.example/ada"),
            (Misbehaviour::AvatarData, "data:image/png;base64,AAAA"),
        ] {
            assert_eq!(told(provider, misbehaviour).await.picture, picture);
        }
    }
}

// An old sample of Google's.
#[tokio::test]
async fn email_verified_may_be_a_string() {
    let world = world_with(GOOGLE, Misbehaviour::EmailVerifiedText).await;
    let token = world.sign_in(GOOGLE).await.text("id_token");
    let claims = verified(&world, &token).await.unwrap();
    assert_eq!(claims["email_verified"], "true");
}
