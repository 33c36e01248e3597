//! The search for secrets in everything that a browser saw, also where a framework has
//! encoded or compressed it. Unknown secrets are found by their digests: the examiner
//! never has an app's session key, only the id that the broker's log gives it.

use std::collections::HashSet;
use std::io::Read as _;

pub(crate) use agent::random::challenge;
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use broker::model::LoginId;
use contract::SessionKey;

use crate::browser::{Browser, Page};

/// The length of a session key, of a state and of the shortest verifier.
const SECRET_LENGTH: usize = 43;

/// The longest verifier.
const MAX_VERIFIER_LENGTH: usize = 128;

/// The layers of encoding that are taken off.
const MAX_DEPTH: usize = 3;

/// The size up to which the compressed values of a text are read, all together: each may be
/// a thousand times as long as it looks.
const MAX_INFLATED_BYTES: usize = 4 * 1024 * 1024;

/// A text in which a secret may be, and its place.
#[derive(Debug, Clone)]
pub(crate) struct Haystack {
    /// The place, for the report: `the cookie sid`.
    pub(crate) place: String,
    pub(crate) text: String,
}

/// Everything that a browser saw of the app: addresses, pages, headers, cookies.
pub(crate) fn haystacks_of(browser: &Browser, is_app: impl Fn(&Page) -> bool) -> Vec<Haystack> {
    let mut all = Vec::new();
    for url in &browser.asked {
        all.push(Haystack {
            place: format!("the address {}", url.path()),
            text: url.to_string(),
        });
    }
    for page in browser.seen.iter().filter(|page| is_app(page)) {
        let path = page.url.path();
        all.push(Haystack {
            place: format!("the page {path}"),
            text: page.body.clone(),
        });
        for (name, value) in &page.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            let place = match (name.as_str(), value.split_once('=')) {
                ("set-cookie", Some((cookie, _))) => format!("the cookie {cookie}"),
                _ => format!("the header {name} of {path}"),
            };
            all.push(Haystack {
                place,
                text: value.into_owned(),
            });
        }
    }
    all
}

/// The text, and every text that is encoded in it.
pub(crate) fn layers(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    let mut known: HashSet<String> = all.iter().cloned().collect();
    let mut next = 0;
    let mut inflatable = MAX_INFLATED_BYTES;
    for _ in 0..MAX_DEPTH {
        let end = all.len();
        for index in next..end {
            for inner in decoded(&all[index], &mut inflatable) {
                if known.insert(inner.clone()) {
                    all.push(inner);
                }
            }
        }
        next = end;
    }
    all
}

/// The texts that are encoded in `text`: by percents, in hexadecimal, by base64, by zlib in
/// base64. Compressed ones become `inflatable` bytes at most, which are counted down.
fn decoded(text: &str, inflatable: &mut usize) -> Vec<String> {
    let mut found = Vec::new();
    if text.contains('%') {
        let plain = text.replace('+', " ");
        let plain =
            url::form_urlencoded::parse(plain.replace('&', "%26").replace('=', "%3D").as_bytes())
                .map(|(name, _)| name.into_owned())
                .collect::<String>();
        found.push(plain);
    }
    let runs = text.split(|c: char| !c.is_ascii_hexdigit());
    let bytes = runs.filter_map(from_hex);
    found.extend(bytes.filter_map(|bytes| readable(&bytes)));
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/');
    let runs = text.split(|c| !is_base64(c)).filter(|run| run.len() >= 16);
    for run in runs {
        let Some(bytes) = from_base64(run) else {
            continue;
        };
        let inflated = inflate(&bytes, *inflatable);
        *inflatable -= inflated.as_ref().map_or(0, Vec::len);
        found.extend(
            [Some(bytes), inflated]
                .into_iter()
                .flatten()
                .filter_map(|bytes| readable(&bytes)),
        );
    }
    found
}

fn from_hex(run: &str) -> Option<Vec<u8>> {
    if run.len() < 16 || !run.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = run.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| u8::try_from(digit(&pair[0])? * 16 + digit(&pair[1])?).ok())
        .collect()
}

fn from_base64(run: &str) -> Option<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if run.contains(['+', '/']) {
        &STANDARD
    } else {
        &URL_SAFE
    };
    GeneralPurpose::new(alphabet, lenient).decode(run).ok()
}

fn inflate(bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut inflated = Vec::new();
    let reader = flate2::read::ZlibDecoder::new(bytes);
    reader.take(limit as u64).read_to_end(&mut inflated).ok()?;
    Some(inflated)
}

/// The bytes as text, if most of them are.
fn readable(bytes: &[u8]) -> Option<String> {
    let printable = bytes
        .iter()
        .filter(|byte| byte.is_ascii_graphic() || **byte == b' ')
        .count();
    (bytes.len() >= 8 && printable * 10 >= bytes.len() * 8)
        .then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// The place of a session key whose login is one of `logins`.
pub(crate) fn find_key(haystacks: &[Haystack], logins: &HashSet<String>) -> Option<String> {
    find(haystacks, |run| {
        windows(run, SECRET_LENGTH).any(|window| {
            let key = window.parse::<SessionKey>();
            key.is_ok_and(|key| logins.contains(LoginId::of_key(&key).as_str()))
        })
    })
}

/// The place of a verifier whose challenge is one of `challenges`.
pub(crate) fn find_verifier(
    haystacks: &[Haystack],
    challenges: &HashSet<String>,
) -> Option<String> {
    find(haystacks, |run| {
        // Whole runs, and the length that nearly every library makes.
        let whole = (SECRET_LENGTH..=MAX_VERIFIER_LENGTH)
            .contains(&run.len())
            .then_some(run);
        let mut candidates = windows(run, SECRET_LENGTH).chain(whole);
        candidates.any(|candidate| challenges.contains(&challenge(candidate)))
    })
}

/// The place of an access token, by its form.
pub(crate) fn find_token(haystacks: &[Haystack]) -> Option<String> {
    find(haystacks, |run| {
        let parts = run.match_indices("fsi_");
        parts
            .map(|(start, prefix)| &run[start + prefix.len()..])
            .any(|rest| rest.len() >= SECRET_LENGTH)
    })
}

/// The place of a known text.
pub(crate) fn find_text(haystacks: &[Haystack], needle: &str) -> Option<String> {
    let has = |haystack: &&Haystack| {
        layers(&haystack.text)
            .iter()
            .any(|text| text.contains(needle))
    };
    haystacks.iter().find(has).map(|it| it.place.clone())
}

/// The place of the first haystack in which a run of letters and digits matches.
fn find(haystacks: &[Haystack], mut matches: impl FnMut(&str) -> bool) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    for haystack in haystacks {
        for text in layers(&haystack.text) {
            let mut runs = text
                .split(|c| !is_part(c))
                .filter(|run| run.len() >= SECRET_LENGTH);
            if runs.any(&mut matches) {
                return Some(haystack.place.clone());
            }
        }
    }
    None
}

fn windows(run: &str, length: usize) -> impl Iterator<Item = &str> {
    // Runs are ASCII, so that every position is a border.
    (0..=run.len().saturating_sub(length)).filter_map(move |start| run.get(start..start + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD as PADDED, URL_SAFE_NO_PAD};
    use std::io::Write as _;

    const KEY: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno-_";

    fn haystack(text: String) -> Vec<Haystack> {
        vec![Haystack {
            place: "here".to_owned(),
            text,
        }]
    }

    fn logins() -> HashSet<String> {
        let key: SessionKey = KEY.parse().unwrap();
        HashSet::from([LoginId::of_key(&key).as_str().to_owned()])
    }

    #[test]
    fn a_key_is_found_by_its_login_wherever_it_hides() {
        let json = format!(r#"{{"key":"{KEY}"}}"#);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        zlib.write_all(json.as_bytes()).unwrap();
        let hidden = [
            json.clone(),
            format!("x{KEY}y"),
            URL_SAFE_NO_PAD.encode(&json),
            PADDED.encode(URL_SAFE_NO_PAD.encode(&json)),
            format!(
                ".{}.signature",
                URL_SAFE_NO_PAD.encode(zlib.finish().unwrap())
            ),
            format!("s%3A{}", json.replace('"', "%22")),
            json.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ];
        for text in hidden {
            assert_eq!(
                find_key(&haystack(text.clone()), &logins()).as_deref(),
                Some("here"),
                "{text}"
            );
        }
    }

    #[test]
    fn compressed_values_without_end_are_read_up_to_a_limit() {
        let bombs = (0..100).map(|n| {
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            let text = format!("{n}{}", "x".repeat(250_000));
            zlib.write_all(text.as_bytes()).unwrap();
            URL_SAFE_NO_PAD.encode(zlib.finish().unwrap())
        });
        let page = bombs.collect::<Vec<_>>().join(" ");
        let length: usize = layers(&page).iter().map(String::len).sum();
        assert!(length <= 2 * page.len() + MAX_INFLATED_BYTES, "{length}");
    }

    #[test]
    fn another_random_value_is_no_key() {
        let other = crate::random::secret();
        assert_eq!(find_key(&haystack(other), &logins()), None);
    }

    #[test]
    fn a_verifier_is_found_by_its_challenge() {
        let challenges = HashSet::from([challenge(KEY)]);
        let page = format!("<input value={KEY}>");
        assert_eq!(
            find_verifier(&haystack(page), &challenges).as_deref(),
            Some("here")
        );
    }
}
