//! Values of fields: valid, at the limit, and just beyond it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use proptest::sample::select;

use super::addresses;
use super::body::Kind;

/// The one project that the broker knows.
pub(super) const CLIENT_ID: &str = "prj_differential";
pub(super) const CLIENT_SECRET: &str = "the secret of the differential project";

/// Its callbacks: an ordinary one, and the longest there can be.
pub(super) fn callbacks() -> [String; 2] {
    [
        "https://app.example/signed-in".to_owned(),
        addresses::filled_to("https://app.example/", "a", 2048),
    ]
}

/// Characters of one, two, three and four bytes, those that make one sign of two,
/// and those that JSON must escape.
const ALPHABETS: [&str; 9] = [
    "abcXYZ019",
    "é",
    "語",
    "😀",
    "a\u{301}",
    "\u{0}\u{1f}\u{7f}",
    "aé語😀",
    "\"\\/",
    " \t\n",
];

/// A value that its field takes.
pub(super) fn right(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::ClientId { .. } => mostly(CLIENT_ID, of_length(vec![1, 2, 99, 100])),
        Kind::ClientSecret => mostly(CLIENT_SECRET, of_length(vec![1, 2, 199, 200])),
        Kind::Code => of_length(vec![1, 2, 43, 199, 200]),
        Kind::SessionKey => prop_oneof![3 => key(), 1 => not_canonical()].boxed(),
        Kind::Provider => select(vec!["google", "github"]).prop_map_into().boxed(),
        Kind::GrantType => Just("authorization_code".to_owned()).boxed(),
        Kind::CodeVerifier => verifier(vec![43, 44, 64, 127, 128]),
        Kind::RedirectUri => prop_oneof![
            4 => select(callbacks().to_vec()),
            1 => addresses::long(),
            1 => addresses::composed(),
        ]
        .boxed(),
    }
}

/// A value at the edge of what its field takes, or beyond.
pub(super) fn odd(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::ClientId { .. } => of_length(vec![0, 1, 99, 100, 101, 102]),
        Kind::ClientSecret | Kind::Code => of_length(vec![0, 1, 199, 200, 201, 400]),
        Kind::SessionKey => odd_key(),
        Kind::Provider => near(vec!["google", "github", "gitlab", "Google", "GITHUB"]),
        Kind::GrantType => near(vec![
            "authorization_code",
            "authorization-code",
            "Authorization_Code",
            "refresh_token",
        ]),
        Kind::CodeVerifier => prop_oneof![
            verifier(vec![0, 42, 43, 128, 129, 200]),
            verifier(vec![43, 128]).prop_flat_map(|text| with_one_changed(&text)),
            odd_key(),
        ]
        .boxed(),
        Kind::RedirectUri => prop_oneof![
            3 => addresses::composed(),
            2 => addresses::long(),
            2 => select(callbacks().to_vec()).prop_flat_map(|text| with_one_changed(&text)),
            1 => of_length(vec![0, 1, 2047, 2048, 2049]),
        ]
        .boxed(),
    }
}

fn mostly(usual: &str, other: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![4 => Just(usual.to_owned()), 1 => other].boxed()
}

/// Text of one of these lengths, in characters, of one of the alphabets.
fn of_length(lengths: Vec<usize>) -> BoxedStrategy<String> {
    (select(lengths), select(&ALPHABETS), 0..9_usize)
        .prop_map(|(length, alphabet, skip)| {
            alphabet.chars().cycle().skip(skip).take(length).collect()
        })
        .boxed()
}

/// One of these words, perhaps with something before or behind it.
fn near(words: Vec<&'static str>) -> BoxedStrategy<String> {
    let little = || select(vec!["", "", "", " ", "\n", "\u{0}", "é", "x"]);
    (little(), select(words), little())
        .prop_map(|(before, word, behind)| format!("{before}{word}{behind}"))
        .boxed()
}

/// 43 characters that 32 bytes make.
fn key() -> BoxedStrategy<String> {
    any::<[u8; 32]>()
        .prop_map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
        .boxed()
}

/// 43 characters that encode no 32 bytes: the last one exceeds 256 bits.
fn not_canonical() -> BoxedStrategy<String> {
    (
        key(),
        select(
            "BCDFGHJKLNPRTVXZbdfhjlnprtvxz1357_-"
                .chars()
                .collect::<Vec<_>>(),
        ),
    )
        .prop_map(|(key, last)| format!("{}{last}", &key[..42]))
        .boxed()
}

fn odd_key() -> BoxedStrategy<String> {
    let behind = select(vec!["=", "\n", " ", "A", "é", ""]);
    prop_oneof![
        not_canonical(),
        (key(), behind).prop_map(|(key, behind)| key + behind),
        (key(), select(vec![0, 1, 41, 42])).prop_map(|(key, length)| key[..length].to_owned()),
        key().prop_flat_map(|text| with_one_changed(&text)),
        of_length(vec![42, 43, 44]),
    ]
    .boxed()
}

/// Of each length the characters of a verifier.
fn verifier(lengths: Vec<usize>) -> BoxedStrategy<String> {
    const ALPHABET: &str = "ABXYZabxyz0189-._~";
    (select(lengths), 0..ALPHABET.len())
        .prop_map(|(length, skip)| ALPHABET.chars().cycle().skip(skip).take(length).collect())
        .boxed()
}

/// The same with one character replaced by one that may not be there.
fn with_one_changed(text: &str) -> BoxedStrategy<String> {
    let odd = "+/=.~-_ @:?#%&\\[]<>\"^`{|}'!*\n\u{0}éA0"
        .chars()
        .collect::<Vec<_>>();
    let characters: Vec<char> = text.chars().collect();
    (0..characters.len().max(1), select(odd))
        .prop_map(move |(at, odd)| {
            let mut changed = characters.clone();
            if let Some(character) = changed.get_mut(at) {
                *character = odd;
            }
            changed.into_iter().collect()
        })
        .boxed()
}
