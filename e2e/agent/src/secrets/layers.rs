//! The texts that are encoded in a text, and the search of them: also for a secret that is
//! known by its digest or its form alone.

use std::collections::HashSet;
use std::io::Read as _;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

/// The layers of encoding that are taken off.
const MAX_DEPTH: usize = 3;

/// The length of the shortest run of digits that is decoded.
const SHORTEST_RUN: usize = 16;

/// The size up to which the compressed values of a text are read, all together: each may be
/// a thousand times as long as it looks.
const MAX_INFLATED_BYTES: usize = 4 * 1024 * 1024;

/// A text in which a secret may be, and its place.
#[derive(Debug, Clone)]
pub struct Haystack {
    /// The place, for a report: `the cookie sid`.
    pub place: String,
    /// The text.
    pub text: String,
}

impl Haystack {
    /// The text that is at `place`.
    pub fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            text: text.into(),
        }
    }
}

/// The place of the first text for which, or for a text that is encoded in it, `holds` is
/// true.
pub fn find(haystacks: &[Haystack], mut holds: impl FnMut(&str) -> bool) -> Option<String> {
    let mut all = haystacks.iter();
    let found = all.find(|it| layers(&it.text).iter().any(|text| holds(text)));
    found.map(|it| it.place.clone())
}

/// The text, and every text that is encoded in it.
pub fn layers(text: &str) -> Vec<String> {
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
        let spaced = text.replace('+', " ");
        found.push(percent_decode_str(&spaced).decode_utf8_lossy().into_owned());
    }
    let bytes = runs(text, |c| c.is_ascii_hexdigit()).filter_map(from_hex);
    found.extend(bytes.filter_map(|bytes| readable(&bytes)));
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/');
    for bytes in runs(text, is_base64).filter_map(from_base64) {
        found.extend(readable(&bytes));
        if let Some(inflated) = inflate(&bytes, *inflatable) {
            *inflatable -= inflated.len();
            found.extend(readable(&inflated));
        }
    }
    found
}

/// The parts of `text` that are long enough, of characters that belong to one.
fn runs(text: &str, is_part: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let runs = text.split(move |c| !is_part(c));
    runs.filter(|run| run.len() >= SHORTEST_RUN)
}

fn from_hex(run: &str) -> Option<Vec<u8>> {
    let pairs = (0..run.len()).step_by(2);
    let bytes = pairs.map(|at| u8::from_str_radix(run.get(at..at + 2)?, 16).ok());
    bytes.collect()
}

fn from_base64(run: &str) -> Option<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = match run.contains(['+', '/']) {
        true => &STANDARD,
        false => &URL_SAFE,
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
    let is_printable = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let printable = bytes.iter().filter(is_printable).count();
    (bytes.len() >= 8 && printable * 10 >= bytes.len() * 8)
        .then(|| String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::super::tests::zlib;
    use super::*;

    #[test]
    fn compressed_values_without_end_are_read_up_to_a_limit() {
        let bombs = (0..100).map(|n| zlib(&format!("{n}{}", "x".repeat(250_000))));
        let bombs = bombs.map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let page = bombs.collect::<Vec<_>>().join(" ");
        let length: usize = layers(&page).iter().map(String::len).sum();
        assert!(length <= 2 * page.len() + MAX_INFLATED_BYTES, "{length}");
    }
}
