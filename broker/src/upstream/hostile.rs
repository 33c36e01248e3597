//! Whatever a provider sends, within the cap: nothing of it makes a parser panic,
//! it ends as a row of the error map, and what counts keeps its bounds.
//!
//! Each target begins from the files in `broker/corpus/NAME` and bends them. The
//! number of tries is proptest's `PROPTEST_CASES`; `just fuzz` takes it as an argument.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use contract::{Origin, Profile};
use jsonwebtoken::DecodingKey;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
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

/// What has broken parsers of other people.
const PIECES: &[&str] = &[
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "1.5",
    "99999999999999999999",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\u{202E}",
    "[]",
    "{}",
    "[[[[[[[[",
    "{\"a\":{\"a\":",
    "\"error\":1,",
    ",",
    ":",
    "\"",
    "\\",
    ".",
    "=",
    "&",
    "%",
    "%00",
    "\r\n",
    "@",
    "javascript:",
    "https://",
    "\u{FEFF}",
    "e30",
    "crit",
    "\"alg\":\"none\"",
    "max-age=",
];

/// One way to bend bytes.
#[derive(Debug, Clone)]
enum Bend {
    Flip(Index, u8),
    Cut(Index, usize),
    Repeat(Index, usize),
    Insert(Index, &'static str),
    Swell(Index, u8, usize),
}

impl Bend {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Self::Flip(index, by) => {
                if !bytes.is_empty() {
                    let at = index.index(bytes.len());
                    bytes[at] ^= by;
                }
            }
            Self::Cut(index, length) => {
                let from = at(index, bytes);
                let to = bytes.len().min(from + length);
                bytes.drain(from..to);
            }
            Self::Repeat(index, length) => {
                let from = at(index, bytes);
                let to = bytes.len().min(from + length);
                let piece = bytes[from..to].to_vec();
                bytes.splice(to..to, piece);
            }
            Self::Insert(index, piece) => {
                let at = at(index, bytes);
                bytes.splice(at..at, piece.bytes());
            }
            Self::Swell(index, byte, length) => {
                let at = at(index, bytes);
                bytes.splice(at..at, std::iter::repeat_n(*byte, *length));
            }
        }
    }
}

fn bend() -> impl Strategy<Value = Bend> {
    prop_oneof![
        (any::<Index>(), 1..=255_u8).prop_map(|(at, by)| Bend::Flip(at, by)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Bend::Cut(at, length)),
        (any::<Index>(), 1..200_usize).prop_map(|(at, length)| Bend::Repeat(at, length)),
        (any::<Index>(), select(PIECES)).prop_map(|(at, piece)| Bend::Insert(at, piece)),
        (any::<Index>(), any::<u8>(), 1..400_usize)
            .prop_map(|(at, byte, length)| Bend::Swell(at, byte, length)),
    ]
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// One of `seeds`, bent; one time in nine nothing but noise.
fn bytes(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let bent = (select(seeds), vec(bend(), 0..6)).prop_map(|(mut bytes, bends)| {
        bends.iter().for_each(|bend| bend.apply(&mut bytes));
        bytes
    });
    prop_oneof![8 => bent, 1 => vec(any::<u8>(), 0..200)]
}

/// Names a test for each target, which judges the corpus first.
macro_rules! targets {
    ($($target:ident($bytes:ident) $body:block)+) => {
        $(mod $target {
            use super::*;

            static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| corpus(stringify!($target)));

            fn judge($bytes: &[u8]) $body

            #[test]
            fn the_corpus_is_judged() {
                assert!(SEEDS.len() >= 2);
                SEEDS.iter().for_each(|seed| judge(seed));
            }

            proptest! {
                #[test]
                fn nothing_breaks_it(input in bytes(SEEDS.clone())) {
                    judge(&input);
                }
            }
        })+
    };
}

targets! {
    github_token(bytes) {
        for answer in answers(bytes) {
            if let Ok(token) = github::token(&answer) {
                assert!(token.expose().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }

    github_user(bytes) {
        for answer in answers(bytes) {
            if let Ok(user) = github::heard::<User>(&answer) {
                keeps_bounds(&github::profile(user, Vec::new()));
            }
        }
    }

    github_emails(bytes) {
        for answer in answers(bytes) {
            if let Ok(emails) = github::heard::<Vec<Value>>(&answer) {
                let user = serde_json::from_str(r#"{"id":1}"#).unwrap();
                keeps_bounds(&github::profile(user, emails));
            }
        }
    }

    google_tokens(bytes) {
        for answer in answers(bytes) {
            let _: Result<_, Failure> = google::tokens(&answer);
        }
    }

    google_claims(bytes) {
        if let Ok(claims) = serde_json::from_slice::<Claims>(bytes) {
            let _: Result<(), Failure> = id_token::check(&claims, &expected());
            if let Ok(profile) = google::profile(claims) {
                keeps_bounds(&profile);
            }
        }
    }

    google_id_token(bytes) {
        let token = String::from_utf8_lossy(bytes);
        let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
        // Nobody holds the private half.
        assert!(id_token::verify(&token, &key, &expected()).is_err());
        let _: Result<String, Failure> = id_token::key_id(&token);
    }

    google_key_set(bytes) {
        for answer in answers(bytes) {
            if let Ok(set) = KeySet::read(&answer) {
                assert!(set.len() > 0);
                assert!(set.find("no such key, whatever").is_none());
            }
            assert!((60..=86_400).contains(&keys::kept_for(&answer).as_secs()));
        }
    }

    google_discovery(bytes) {
        for answer in answers(bytes) {
            for issuer in ["https://accounts.google.com", "http://127.0.0.1:8020"] {
                let issuer: Origin = issuer.parse().unwrap();
                if let Ok(found) = Endpoints::read(&answer, &issuer) {
                    for url in [found.authorization, found.token, found.keys] {
                        let host = url.split('/').nth(2).unwrap();
                        assert!(HOSTS.contains(&host), "{url}");
                        assert!(url.bytes().all(|byte| byte.is_ascii_graphic()));
                    }
                }
            }
        }
    }

    callback_query(bytes) {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(code) = code_from(&Query::parse(&text), "https://accounts.google.com") {
            assert!((1..=2048).contains(&code.len()) && !code.contains(char::is_control));
        }
    }
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
