//! Odd accounts, at both providers.

use mock_upstream::{Misbehaviour, Provider};
use serde_json::Value;

use super::{GITHUB, GOOGLE, mock_with};
use crate::google::id_token::verified;

/// The name, address and picture that the provider sends.
struct Account {
    name: Value,
    email: Value,
    picture: Value,
}

async fn account(provider: Provider, misbehaviour: Misbehaviour) -> Account {
    let mock = mock_with(provider, misbehaviour).await;
    let answer = mock.sign_in(provider).await;
    match provider {
        Provider::Google => {
            let claims = verified(&mock, &answer.text("id_token")).await.unwrap();
            Account {
                name: claims["name"].clone(),
                email: claims["email"].clone(),
                picture: claims["picture"].clone(),
            }
        }
        Provider::GitHub => {
            let token = answer.text("access_token");
            let user = mock.get_with_token(GITHUB, "/user", &token).await.json();
            Account {
                name: user["name"].clone(),
                email: mock
                    .get_with_token(GITHUB, "/user/emails", &token)
                    .await
                    .json()[0]["email"]
                    .clone(),
                picture: user["avatar_url"].clone(),
            }
        }
    }
}

#[tokio::test]
async fn an_address_can_have_two_at_signs() {
    for provider in [GOOGLE, GITHUB] {
        let account = account(provider, Misbehaviour::EmailTwoAts).await;
        assert_eq!(account.email, "ada@evil.example@people.example");
    }
}

#[tokio::test]
async fn a_name_can_be_anything() {
    for provider in [GOOGLE, GITHUB] {
        for (misbehaviour, name) in [
            (Misbehaviour::NameBidi, "Ada \u{202e}ecalevoL".to_owned()),
            (Misbehaviour::NameNul, "Ada\0 Lovelace".to_owned()),
            (Misbehaviour::NameLong, "A".repeat(10_000)),
        ] {
            assert_eq!(account(provider, misbehaviour).await.name, name);
        }
    }
}

#[tokio::test]
async fn a_picture_can_be_any_url() {
    for provider in [GOOGLE, GITHUB] {
        for (misbehaviour, picture) in [
            (Misbehaviour::AvatarJavascript, "javascript:alert(1)"),
            (Misbehaviour::AvatarHttp, "http://pictures.example/ada"),
            (Misbehaviour::AvatarData, "data:image/png;base64,AAAA"),
        ] {
            assert_eq!(account(provider, misbehaviour).await.picture, picture);
        }
    }
}

// An old sample of Google's.
#[tokio::test]
async fn email_verified_can_be_a_string() {
    let mock = mock_with(GOOGLE, Misbehaviour::EmailVerifiedText).await;
    let token = mock.sign_in(GOOGLE).await.text("id_token");
    let claims = verified(&mock, &token).await.unwrap();
    assert_eq!(claims["email_verified"], "true");
}
