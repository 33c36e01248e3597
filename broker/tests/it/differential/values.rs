//! Values of fields: valid, at the limit, and just beyond it.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fuzz::broker::{CLIENT, SECRET};
use crate::test_broker::CALLBACK;

/// The type of a field in the specification's tables.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    ClientId,
    ClientSecret,
    SessionKey,
    Provider,
    RedirectUri,
    GrantType,
    Code,
    CodeVerifier,
}

/// The longest callback that there can be.
pub(super) static LONGEST_CALLBACK: LazyLock<String> =
    LazyLock::new(|| filled_to("https://app.example/", "a", 2048));

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

/// The characters of a verifier.
const UNRESERVED: &str = "ABXYZabxyz0189-._~";

impl Kind {
    /// The rule that refuses a wrong value.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::ClientId => "client_id.length",
            Self::ClientSecret => "client_secret.length",
            Self::SessionKey => "session_key.pattern",
            Self::Provider => "provider.known",
            Self::RedirectUri => "redirect_uri.shape",
            Self::GrantType => "grant_type.constant",
            Self::Code => "code.length",
            Self::CodeVerifier => "code_verifier.pattern",
        }
    }

    /// A value that the field takes.
    pub(super) fn right(self) -> BoxedStrategy<String> {
        match self {
            Self::ClientId => mostly(CLIENT, of_length(&[1, 2, 99, 100])),
            Self::ClientSecret => mostly(SECRET, of_length(&[1, 2, 199, 200])),
            Self::Code => of_length(&[1, 2, 43, 199, 200]),
            Self::SessionKey => prop_oneof![3 => key(), 1 => not_canonical()].boxed(),
            Self::Provider => select(vec!["google", "github"]).prop_map_into().boxed(),
            Self::GrantType => Just("authorization_code".to_owned()).boxed(),
            Self::CodeVerifier => of(UNRESERVED, &[43, 44, 64, 127, 128]),
            Self::RedirectUri => prop_oneof![
                4 => callback(),
                1 => long_address(),
                1 => composed_address(),
            ]
            .boxed(),
        }
    }

    /// A value at the edge of what the field takes, or beyond.
    pub(super) fn odd(self) -> BoxedStrategy<String> {
        match self {
            Self::ClientId => of_length(&[0, 1, 99, 100, 101, 102]),
            Self::ClientSecret | Self::Code => of_length(&[0, 1, 199, 200, 201, 400]),
            Self::SessionKey => odd_key(),
            Self::Provider => near("google github gitlab Google GITHUB"),
            Self::GrantType => {
                near("authorization_code authorization-code Authorization_Code refresh_token")
            }
            Self::CodeVerifier => prop_oneof![
                of(UNRESERVED, &[0, 42, 43, 128, 129, 200]),
                of(UNRESERVED, &[43, 128]).prop_flat_map(|text| with_one_changed(&text)),
                odd_key(),
            ]
            .boxed(),
            Self::RedirectUri => prop_oneof![
                3 => composed_address(),
                2 => long_address(),
                2 => callback().prop_flat_map(|text| with_one_changed(&text)),
                1 => of_length(&[0, 1, 2047, 2048, 2049]),
            ]
            .boxed(),
        }
    }
}

fn mostly(usual: &str, other: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![4 => Just(usual.to_owned()), 1 => other].boxed()
}

/// Text of one of these lengths, in characters, of one of the alphabets.
fn of_length(lengths: &'static [usize]) -> BoxedStrategy<String> {
    let alphabet = select(&ALPHABETS);
    alphabet
        .prop_flat_map(move |alphabet| of(alphabet, lengths))
        .boxed()
}

/// Characters of `alphabet`.
fn of(alphabet: &'static str, lengths: &'static [usize]) -> BoxedStrategy<String> {
    let characters = move |(length, skip)| alphabet.chars().cycle().skip(skip).take(length);
    let places = (select(lengths), 0..alphabet.len());
    places
        .prop_map(move |place| characters(place).collect())
        .boxed()
}

fn words(list: &'static str) -> impl Strategy<Value = &'static str> {
    select(list.split(' ').collect::<Vec<_>>())
}

/// One of these words, perhaps with something before or behind it.
fn near(list: &'static str) -> BoxedStrategy<String> {
    let little = || select(vec!["", "", "", " ", "\n", "\u{0}", "é", "x"]);
    (little(), words(list), little())
        .prop_map(|(before, word, behind)| format!("{before}{word}{behind}"))
        .boxed()
}

/// 43 characters that 32 bytes make.
fn key() -> BoxedStrategy<String> {
    let bytes = any::<[u8; 32]>();
    bytes
        .prop_map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
        .boxed()
}

/// 43 characters that encode no 32 bytes: the last one exceeds 256 bits.
fn not_canonical() -> BoxedStrategy<String> {
    let last = words("B C D F H J N R T X Z b d f h l n r t x z 1 3 5 7 9 _ -");
    (key(), last)
        .prop_map(|(key, last)| key[..42].to_owned() + last)
        .boxed()
}

fn odd_key() -> BoxedStrategy<String> {
    let behind = select(vec!["=", "\n", " ", "A", "é", ""]);
    prop_oneof![
        not_canonical(),
        (key(), behind).prop_map(|(key, behind)| key + behind),
        (key(), select(vec![0, 1, 41, 42])).prop_map(|(key, length)| key[..length].to_owned()),
        key().prop_flat_map(|text| with_one_changed(&text)),
        of_length(&[42, 43, 44]),
    ]
    .boxed()
}

/// The same with one character replaced by one that may not be there.
fn with_one_changed(text: &str) -> BoxedStrategy<String> {
    let odd = "+/=.~-_ @:?#%&\\[]<>\"^`{|}'!*\n\u{0}éA0".chars();
    let characters: Vec<char> = text.chars().collect();
    (0..characters.len(), select(odd.collect::<Vec<_>>()))
        .prop_map(move |(at, odd)| {
            let mut changed = characters.clone();
            changed[at] = odd;
            changed.into_iter().collect()
        })
        .boxed()
}

fn callback() -> BoxedStrategy<String> {
    select(vec![CALLBACK.to_owned(), LONGEST_CALLBACK.clone()]).boxed()
}

/// Addresses of 2046 to 2050 characters.
fn long_address() -> BoxedStrategy<String> {
    let start = words("https://app.example/ http://localhost:3000/ http://[::1]/");
    (start, words("a a/ ~ é %41 ./"), 2046..=2050_usize)
        .prop_map(|(start, filling, length)| filled_to(start, filling, length))
        .boxed()
}

fn filled_to(start: &str, filling: &str, length: usize) -> String {
    let filling = filling.chars().cycle();
    start.chars().chain(filling).take(length).collect()
}

/// Addresses put together from parts that are right, wrong, or right elsewhere. An empty
/// word is an empty part.
fn composed_address() -> BoxedStrategy<String> {
    let scheme = words("https https https http http HTTPS ftp https: javascript ");
    let before = words("      user@ user:password@ @ :@");
    let host = words(
        "app.example app.example localhost localhost 127.0.0.1 [::1] APP.example app.example. \
         localhost. a..b a_b a!b a~b xn--bcher-kva.example bücher.example a%62c a\tb 127.0.0.2 \
         127.255.255.254 127.1 127.0.0.01 127.0.0.256 127.0.0.1. 127.0.0.1.example 128.0.0.1 \
         0.0.0.0 2130706433 0x7f.0.0.1 1.2.3.4 1.2.3.04 256.1.1.1 a.1 a.0x a.0x1g [::] \
         [2001:db8::1] [2001:DB8::1] [0:0:0:0:0:0:0:1] [::ffff:7f00:1] [::ffff:127.0.0.1] [1] [] \
         [::1 ::1 sub.localhost localhost.example ",
    );
    let port = words(
        "    :3000 :1 :0 :00 :80 :443 :8443 :65535 :65536 :99999 :100000 :080 :0443 : :x :-1 :３",
    );
    let path = words(
        " / / /cb /cb /a/b/c /. /.. /./cb /a/../cb /cb/. /... /.cb /%2e /%2E%2e/cb /.%2e /%2ecb \
         /% /%4 /%4g /%zz /%41 /%c3%a9 /é // //cb /cb// /a;b=c,d /@:!$&'()*+ /a|b /a^b /[a] \
         /a\\b /a\tb /cb? /cb?x=1 /cb# /cb#x ?x #x cb /{a} /a`b /\"",
    );
    (scheme, before, host, port, path)
        .prop_map(|(scheme, before, host, port, path)| {
            format!("{scheme}://{before}{host}{port}{path}")
        })
        .boxed()
}
