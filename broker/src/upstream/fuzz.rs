//! Fuzzing of the parsers of providers' answers: no input makes a parser panic, every
//! rejected one is a row of the error map, and every accepted one is within its bounds.
//!
//! Each target mutates the files in `broker/corpus/NAME`, and must produce accepted as
//! well as rejected inputs.

use contract::{Origin, Profile};
use jsonwebtoken::DecodingKey;
use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use testkit::fuzz::Corpus;

use super::client::Answer;
use super::google::documents::{self, Jwks, Metadata};
use super::google::id_token::{self, Claims, Expected};
use super::oauth::code_from;
use super::{github, google};
use crate::model::UnixMs;
use crate::untrusted::Query;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Fuzzes `accepts`, which returns whether an input is accepted; both must occur.
fn fuzz(target: &str, accepts: impl Fn(&[u8]) -> bool) {
    let target_of = |bytes: &[u8]| Some(accepts(bytes));
    testkit::fuzz::run(target, &CORPUS.seeds(target), target_of).assert_include(&[true, false]);
}

/// Checks every accepted value, and returns whether there was any.
fn check_all<T>(accepted: impl Iterator<Item = T>, check: impl Fn(T)) -> bool {
    accepted.fold(false, |_, value| {
        check(value);
        true
    })
}

#[test]
fn a_token_answer_of_github_gives_a_token_or_nothing() {
    fuzz("github_token", |bytes| {
        let tokens = answers(bytes).filter_map(|answer| github::token(&answer).ok());
        check_all(tokens, |token| {
            assert!(token.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        })
    });
}

#[test]
fn a_user_of_github_keeps_the_bounds_of_a_profile() {
    fuzz("github_user", |bytes| {
        let users = answers(bytes).filter_map(|answer| github::user_in(&answer).ok());
        check_all(users, |user| {
            assert_bounds(&github::profile(user, Vec::new()));
        })
    });
}

#[test]
fn addresses_of_github_keep_the_bounds_of_a_profile() {
    fuzz("github_emails", |bytes| {
        // A token without the permission gets an empty list.
        let lists = answers(bytes).filter_map(|answer| github::emails_in(&answer).ok());
        let lists = lists.filter(|emails| !emails.is_empty());
        check_all(lists, |emails| {
            let user = serde_json::from_str(r#"{"id":1}"#).unwrap();
            assert_bounds(&github::profile(user, emails));
        })
    });
}

#[test]
fn a_token_answer_of_google_is_read_or_refused() {
    fuzz("google_tokens", |bytes| {
        let tokens = answers(bytes).filter_map(|answer| google::tokens(&answer).ok());
        check_all(tokens, drop)
    });
}

/// The claims that must have been as expected. The others may be any JSON, even with
/// half of a character, which no `Value` can hold.
#[derive(serde::Deserialize)]
struct AcceptedClaims {
    iss: String,
    nonce: String,
    aud: String,
}

// Threats: RAUTHY-006.
#[test]
fn claims_of_google_keep_the_bounds_of_a_profile() {
    fuzz("google_claims", |bytes| {
        let Ok(claims) = serde_json::from_slice::<Claims>(bytes) else {
            return false;
        };
        if id_token::check(&claims, &expected()).is_ok() {
            let read: AcceptedClaims = serde_json::from_slice(bytes).unwrap();
            let issuer = read.iss.trim_start_matches("https://");
            assert_eq!(issuer, "accounts.google.com");
            assert_eq!((&*read.nonce, &*read.aud), ("nonce", "us"));
        }
        google::profile(claims).is_ok_and(|profile| {
            assert_bounds(&profile);
            true
        })
    });
}

#[test]
fn an_id_token_without_a_valid_signature_is_never_accepted() {
    let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
    fuzz("google_id_token", |bytes| {
        let token = String::from_utf8_lossy(bytes);
        // No private key exists for it.
        assert!(id_token::verify(&token, &key, &expected()).is_err());
        id_token::key_id(&token).is_ok()
    });
}

#[test]
fn a_key_set_is_not_empty_and_is_cached_for_a_bounded_time() {
    fuzz("google_key_set", |bytes| {
        for answer in answers(bytes) {
            assert!((60..=86_400).contains(&documents::lifetime(&answer).as_secs()));
        }
        let sets = answers(bytes).filter_map(|answer| Jwks::read(&answer).ok());
        check_all(sets, |set| {
            assert!(set.len() > 0);
            assert!(set.find("no such key, whatever").is_none());
        })
    });
}

#[test]
fn discovery_names_googles_own_hosts_alone() {
    let issuers = ["https://accounts.google.com", "http://127.0.0.1:8020"];
    let issuers = issuers.map(|issuer| issuer.parse::<Origin>().unwrap());
    fuzz("google_discovery", |bytes| {
        let read = |answer: Answer| issuers.each_ref().map(|it| Metadata::read(&answer, it));
        let found = answers(bytes).flat_map(read).flatten();
        check_all(found, |found| {
            for url in [
                found.authorization_endpoint,
                found.token_endpoint,
                found.jwks_uri,
            ] {
                let host = url.as_str().split('/').nth(2).unwrap();
                assert!(HOSTS.contains(&host), "{url}");
                assert!(url.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        })
    });
}

// Threats: RAUTHY-006.
#[test]
fn a_callback_brings_a_usable_code_or_none() {
    fuzz("callback_query", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let code = code_from(&Query::parse(&text), "https://accounts.google.com");
        code.is_ok_and(|code| {
            assert!((1..=2048).contains(&code.len()) && !code.contains(char::is_control));
            true
        })
    });
}

/// The hosts that the documents of Google, and of an imitation, may name.
const HOSTS: [&str; 4] = [
    "accounts.google.com",
    "oauth2.googleapis.com",
    "www.googleapis.com",
    "127.0.0.1:8020",
];

/// A 2048-bit modulus without a private key.
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

/// The same bytes with every status that is treated differently.
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

/// Each field is named, so that none is added without its bounds.
fn assert_bounds(profile: &Profile) {
    let Profile {
        subject: _,
        provider: _,
        provider_subject,
        name,
        username,
        email,
        email_verified,
        avatar_url,
    } = profile;
    for name in [name, username].into_iter().flatten() {
        assert!((1..=256).contains(&name.chars().count()));
        assert!(!name.contains(|c: char| c.is_control() || ('\u{202A}'..='\u{202E}').contains(&c)));
    }
    if let Some(email) = email {
        assert!(email.len() <= 254 && email.matches('@').count() == 1);
    }
    assert!(email.is_some() || !email_verified);
    if let Some(url) = avatar_url {
        assert!(url.starts_with("https://") && url.len() <= 2048);
    }
    let is_graphic = provider_subject.bytes().all(|byte| byte.is_ascii_graphic());
    assert!(is_graphic && (1..=255).contains(&provider_subject.len()));
}
