//! Values of fields: valid, at the limit, and just beyond it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fuzzed_broker::{CLIENT, SECRET};
use crate::test_broker::CALLBACK;

/// A field of a request.
pub(super) struct Field {
    pub(super) name: String,
    /// The rule that refuses a wrong value.
    pub(super) rule: &'static str,
    /// A value that the field takes.
    pub(super) right: String,
    /// A value at the edge of what the field takes, or beyond.
    pub(super) odd: BoxedStrategy<String>,
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

/// The characters of a verifier.
const UNRESERVED: &str = "ABXYZabxyz0189-._~";

/// 43 characters that encode 32 bytes.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

impl Field {
    /// The field of this name in the specification's tables.
    pub(super) fn of(name: &str) -> Self {
        let (rule, right, odd) = match name {
            "client_id" => {
                let odd = of_length(&[0, 1, 2, 99, 100, 101, 102]);
                ("client_id.length", CLIENT, odd)
            }
            "client_secret" => {
                let odd = of_length(&[0, 1, 199, 200, 201, 400]);
                ("client_secret.length", SECRET, odd)
            }
            "code" => {
                let odd = of_length(&[0, 1, 43, 199, 200, 201, 400]);
                ("code.length", KEY, odd)
            }
            "session_key" => ("session_key.pattern", KEY, odd_key()),
            "provider" => {
                let odd = near("google github gitlab Google GITHUB");
                ("provider.known", "github", odd)
            }
            "grant_type" => {
                let odd =
                    near("authorization_code authorization-code Authorization_Code refresh_token");
                ("grant_type.constant", "authorization_code", odd)
            }
            "code_verifier" => ("code_verifier.pattern", KEY, odd_verifier()),
            "redirect_uri" => ("redirect_uri.shape", CALLBACK, odd_address()),
            other => panic!("{other} is no field of a request"),
        };
        Self {
            name: name.to_owned(),
            rule,
            right: right.to_owned(),
            odd,
        }
    }
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

fn odd_verifier() -> BoxedStrategy<String> {
    prop_oneof![
        of(UNRESERVED, &[0, 42, 43, 44, 64, 127, 128, 129, 200]),
        of(UNRESERVED, &[43, 128]).prop_flat_map(|text| with_one_changed(&text)),
        odd_key(),
    ]
    .boxed()
}

fn odd_address() -> BoxedStrategy<String> {
    prop_oneof![
        3 => composed_address(),
        2 => long_address(),
        2 => with_one_changed(CALLBACK),
        1 => of_length(&[0, 1, 2047, 2048, 2049]),
    ]
    .boxed()
}

/// Addresses of 2046 to 2050 characters.
fn long_address() -> BoxedStrategy<String> {
    let start = words("https://app.example/ http://localhost:3000/ http://[::1]/");
    (start, words("a a/ ~ é %41 ./"), 2046..=2050_usize)
        .prop_map(|(start, filling, length)| {
            let filling = filling.chars().cycle();
            start.chars().chain(filling).take(length).collect()
        })
        .boxed()
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
