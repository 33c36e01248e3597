//! Whatever a provider sends, within the cap: nothing of it makes a parser panic,
//! it ends as a row of the error map, and what counts keeps its bounds.
//!
//! Each target bends the files in `broker/corpus/NAME`, and meets what is taken as
//! well as what is not.

use bent::Corpus;
use contract::{Origin, Profile};
use jsonwebtoken::DecodingKey;
use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use super::client::Answer;
use super::github::{self, User};
use super::google::discovery::Endpoints;
use super::google::id_token::{self, Claims, Expected};
use super::google::key_set::KeySet;
use super::google::{self, keys};
use super::{Failure, code_from};
use crate::flows::UnixMs;
use crate::query::Query;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Has `judge` say of each input whether it is taken, and sees that some are and some
/// are not.
fn judge(target: &str, judge: impl Fn(&[u8]) -> bool) {
    let met = bent::judge(target, &CORPUS.seeds(target), judge);
    assert_eq!(met.len(), 2, "{target}: {met:?}");
}

#[test]
fn github_token() {
    judge("github_token", |bytes| {
        let tokens = answers(bytes).filter_map(|answer| github::token(&answer).ok());
        let graphic = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        tokens
            .inspect(|token| assert!(graphic(token.expose())))
            .count()
            > 0
    });
}

#[test]
fn github_user() {
    judge("github_user", |bytes| {
        let users = answers(bytes).filter_map(|answer| github::heard::<User>(&answer).ok());
        users
            .map(|user| keeps_bounds(&github::profile(user, Vec::new())))
            .count()
            > 0
    });
}

#[test]
fn github_emails() {
    judge("github_emails", |bytes| {
        let lists = answers(bytes).filter_map(|answer| github::heard::<Vec<Value>>(&answer).ok());
        lists
            .map(|emails| {
                let user = serde_json::from_str(r#"{"id":1}"#).unwrap();
                keeps_bounds(&github::profile(user, emails));
            })
            .count()
            > 0
    });
}

#[test]
fn google_tokens() {
    judge("google_tokens", |bytes| {
        answers(bytes)
            .filter_map(|answer| google::tokens(&answer).ok())
            .count()
            > 0
    });
}

#[test]
fn google_claims() {
    judge("google_claims", |bytes| {
        let Ok(claims) = serde_json::from_slice::<Claims>(bytes) else {
            return false;
        };
        let _: Result<(), Failure> = id_token::check(&claims, &expected());
        google::profile(claims).is_ok_and(|profile| {
            keeps_bounds(&profile);
            true
        })
    });
}

#[test]
fn google_id_token() {
    let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
    judge("google_id_token", |bytes| {
        let token = String::from_utf8_lossy(bytes);
        // Nobody holds the private half.
        assert!(id_token::verify(&token, &key, &expected()).is_err());
        id_token::key_id(&token).is_ok()
    });
}

#[test]
fn google_key_set() {
    judge("google_key_set", |bytes| {
        answers(bytes)
            .inspect(|answer| {
                assert!((60..=86_400).contains(&keys::kept_for(answer).as_secs()));
            })
            .filter_map(|answer| KeySet::read(&answer).ok())
            .inspect(|set| {
                assert!(set.len() > 0);
                assert!(set.find("no such key, whatever").is_none());
            })
            .count()
            > 0
    });
}

#[test]
fn google_discovery() {
    let issuers = ["https://accounts.google.com", "http://127.0.0.1:8020"];
    let issuers = issuers.map(|issuer| issuer.parse::<Origin>().unwrap());
    judge("google_discovery", |bytes| {
        let found = answers(bytes).flat_map(|answer| {
            issuers
                .each_ref()
                .map(|issuer| Endpoints::read(&answer, issuer).ok())
        });
        found
            .flatten()
            .flat_map(|found| [found.authorization, found.token, found.keys])
            .inspect(|url| {
                let host = url.split('/').nth(2).unwrap();
                assert!(HOSTS.contains(&host), "{url}");
                assert!(url.bytes().all(|byte| byte.is_ascii_graphic()));
            })
            .count()
            > 0
    });
}

#[test]
fn callback_query() {
    judge("callback_query", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let code = code_from(&Query::parse(&text), "https://accounts.google.com");
        code.is_ok_and(|code| {
            assert!((1..=2048).contains(&code.len()) && !code.contains(char::is_control));
            true
        })
    });
}

/// Where Google's own documents, and those of an imitation, may lead.
const HOSTS: [&str; 4] = [
    "accounts.google.com",
    "oauth2.googleapis.com",
    "www.googleapis.com",
    "127.0.0.1:8020",
];

/// 2048 bits of no key.
const MODULUS: &str = "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww";

fn expected() -> Expected<'static> {
    Expected {
        issuer: "https://accounts.google.com",
        client_id: "us",
        nonce: "nonce",
        access_token: None,
        now: UnixMs(1_800_000_000_000),
    }
}

/// The same bytes under every head that is judged differently.
fn answers(bytes: &[u8]) -> impl Iterator<Item = Answer> {
    [200, 400, 403].into_iter().map(move |status| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(value) = HeaderValue::from_bytes(&bytes[..bytes.len().min(60)]) {
            headers.insert(CACHE_CONTROL, value);
        }
        Answer::of(StatusCode::from_u16(status).unwrap(), headers, bytes)
    })
}

fn keeps_bounds(profile: &Profile) {
    for name in [&profile.name, &profile.username].into_iter().flatten() {
        assert!((1..=256).contains(&name.chars().count()));
        assert!(!name.contains(|c: char| c.is_control() || ('\u{202A}'..='\u{202E}').contains(&c)));
    }
    if let Some(email) = &profile.email {
        assert!(email.len() <= 254 && email.matches('@').count() == 1);
    }
    assert!(profile.email.is_some() || !profile.email_verified);
    if let Some(url) = &profile.avatar_url {
        assert!(url.starts_with("https://") && url.len() <= 2048);
    }
    let sub = &profile.provider_subject;
    assert!((1..=255).contains(&sub.len()) && sub.bytes().all(|byte| byte.is_ascii_graphic()));
}
