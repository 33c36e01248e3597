//! Whatever a provider sends, within the cap: nothing of it makes a parser panic,
//! it ends as a row of the error map, and what counts keeps its bounds.
//!
//! Each target bends the files in `broker/corpus/NAME`, and meets what is taken as
//! well as what is not.

use contract::{Origin, Profile};
use jsonwebtoken::DecodingKey;
use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use testkit::fuzz::Corpus;

use super::client::Answer;
use super::github;
use super::google::discovery::Endpoints;
use super::google::id_token::{self, Claims, Expected};
use super::google::key_set::KeySet;
use super::google::{self, keys};
use super::{Failure, code_from};
use crate::model::UnixMs;
use crate::query::Query;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Has `judge` say of each input whether it is taken, and sees that some are and some
/// are not.
fn judge(target: &str, judge: impl Fn(&[u8]) -> bool) {
    let met = testkit::fuzz::judge(target, &CORPUS.seeds(target), judge);
    assert_eq!(met.len(), 2, "{target}: {met:?}");
}

/// Judges every one of what was taken; whether any was.
fn every<T>(taken: impl Iterator<Item = T>, judge: impl Fn(T)) -> bool {
    taken.fold(false, |_, one| {
        judge(one);
        true
    })
}

#[test]
fn a_token_answer_of_github_gives_a_token_or_nothing() {
    judge("github_token", |bytes| {
        let tokens = answers(bytes).filter_map(|answer| github::token(&answer).ok());
        every(tokens, |token| {
            assert!(token.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        })
    });
}

#[test]
fn a_user_of_github_keeps_the_bounds_of_a_profile() {
    judge("github_user", |bytes| {
        let users = answers(bytes).filter_map(|answer| github::user_in(&answer).ok());
        every(users, |user| {
            keeps_bounds(&github::profile(user, Vec::new()));
        })
    });
}

#[test]
fn addresses_of_github_keep_the_bounds_of_a_profile() {
    judge("github_emails", |bytes| {
        // None at all is what a token may read that lacks the permission.
        let lists = answers(bytes).filter_map(|answer| github::emails_in(&answer).ok());
        let lists = lists.filter(|emails| !emails.is_empty());
        every(lists, |emails| {
            let user = serde_json::from_str(r#"{"id":1}"#).unwrap();
            keeps_bounds(&github::profile(user, emails));
        })
    });
}

#[test]
fn a_token_answer_of_google_is_read_or_refused() {
    judge("google_tokens", |bytes| {
        let tokens = answers(bytes).filter_map(|answer| google::tokens(&answer).ok());
        every(tokens, drop)
    });
}

#[test]
fn claims_of_google_keep_the_bounds_of_a_profile() {
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
fn an_id_token_that_nobody_signed_is_never_taken() {
    let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
    judge("google_id_token", |bytes| {
        let token = String::from_utf8_lossy(bytes);
        // Nobody holds the private half.
        assert!(id_token::verify(&token, &key, &expected()).is_err());
        id_token::key_id(&token).is_ok()
    });
}

#[test]
fn a_key_set_is_not_empty_and_is_kept_for_a_bounded_time() {
    judge("google_key_set", |bytes| {
        for answer in answers(bytes) {
            assert!((60..=86_400).contains(&keys::kept_for(&answer).as_secs()));
        }
        let sets = answers(bytes).filter_map(|answer| KeySet::read(&answer).ok());
        every(sets, |set| {
            assert!(set.len() > 0);
            assert!(set.find("no such key, whatever").is_none());
        })
    });
}

#[test]
fn a_discovery_leads_to_googles_own_hosts_alone() {
    let issuers = ["https://accounts.google.com", "http://127.0.0.1:8020"];
    let issuers = issuers.map(|issuer| issuer.parse::<Origin>().unwrap());
    judge("google_discovery", |bytes| {
        let read = |answer: Answer| issuers.each_ref().map(|it| Endpoints::read(&answer, it));
        let found = answers(bytes).flat_map(read).flatten();
        every(found, |found| {
            for url in [found.authorization, found.token, found.keys] {
                let host = url.split('/').nth(2).unwrap();
                assert!(HOSTS.contains(&host), "{url}");
                assert!(url.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        })
    });
}

#[test]
fn a_callback_brings_a_usable_code_or_none() {
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
