//! The ways to bend bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::fuzz::Shown;

/// What has broken parsers of other people: of JSON, queries, heads and TOML.
const PIECES: &[&[u8]] = &[
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e999",
    b"1.5",
    b"99999999999999999999",
    b"NaN",
    b"\"\"",
    b"\"\\u0000\"",
    b"\"\\ud800\"",
    b"\\u0063",
    b"[]",
    b"{}",
    b"[[[[[[[[",
    b"{\"a\":{\"a\":",
    b"\"error\":1,",
    b"\"client_id\":\"\",",
    b"__proto__",
    b",",
    b":",
    b";",
    b"\"",
    b"'",
    b"'''",
    b"\\",
    b"/",
    b"..",
    b".",
    b"=",
    b"&",
    b"?",
    b"#",
    b"+",
    b"%",
    b"%00",
    b"%0d%0a",
    b"%2e%2e%2f",
    b"%ff",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r\nSet-Cookie: a=b\r\n",
    b"\0",
    b"\x7f",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    "\u{202E}".as_bytes(),
    "\u{FEFF}".as_bytes(),
    "\u{1F600}".as_bytes(),
    b"@",
    b"*",
    b"[[a]]\n",
    b"<script>",
    b"javascript:",
    b"https://",
    b"//evil.example",
    b"e30",
    b"crit",
    b"\"alg\":\"none\"",
    b"max-age=",
    b"Bearer ",
    b"Basic Og==",
    b"_method=get&",
];

/// One way to bend bytes.
#[derive(Debug, Clone)]
enum Bend {
    Flip(Index, u8),
    Cut(Index, usize),
    Repeat(Index, usize),
    Insert(Index, &'static [u8]),
    Swell(Index, u8, usize),
    Pile(Index, &'static [u8], usize),
    Graft(Index, Index, Vec<u8>),
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
                bytes.splice(at..at, piece.iter().copied());
            }
            Self::Swell(index, byte, length) => {
                let at = at(index, bytes);
                bytes.splice(at..at, std::iter::repeat_n(*byte, *length));
            }
            Self::Pile(index, piece, times) => {
                let at = at(index, bytes);
                bytes.splice(at..at, piece.repeat(*times));
            }
            Self::Graft(index, cut, other) => {
                bytes.truncate(at(index, bytes));
                bytes.extend_from_slice(&other[at(cut, other)..]);
            }
        }
    }
}

fn bend(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Bend> {
    let place = any::<Index>;
    prop_oneof![
        8 => (place(), 1..=255_u8).prop_map(|(at, by)| Bend::Flip(at, by)),
        8 => (place(), 1..40_usize).prop_map(|(at, length)| Bend::Cut(at, length)),
        8 => (place(), 1..200_usize).prop_map(|(at, length)| Bend::Repeat(at, length)),
        12 => (place(), select(PIECES)).prop_map(|(at, piece)| Bend::Insert(at, piece)),
        4 => (place(), any::<u8>(), 1..400_usize)
            .prop_map(|(at, byte, length)| Bend::Swell(at, byte, length)),
        // Deep, long, and now and then larger than any door takes.
        1 => (place(), select(PIECES), 1..8_000_usize)
            .prop_map(|(at, piece, times)| Bend::Pile(at, piece, times)),
        3 => (place(), place(), select(seeds))
            .prop_map(|(at, cut, other)| Bend::Graft(at, cut, other)),
    ]
}

/// One of `seeds`, bent up to five times; one time in nine nothing but noise.
pub(crate) fn bytes(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Shown> {
    let bends = vec(bend(seeds.clone()), 0..6);
    let bent = (select(seeds), bends).prop_map(|(mut bytes, bends)| {
        bends.iter().for_each(|bend| bend.apply(&mut bytes));
        bytes
    });
    prop_oneof![8 => bent, 1 => vec(any::<u8>(), 0..200)].prop_map(Shown)
}
