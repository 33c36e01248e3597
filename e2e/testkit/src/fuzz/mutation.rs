//! Mutations of bytes.

use std::fmt::{self, Debug};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Pieces that have broken parsers of JSON, queries, HTTP heads and TOML.
const WORDS: &str = r#"
null true -1 0 1e999 1.5 99999999999999999999 NaN "" "\u0000" "\ud800" \u0063 [] {} [[[[[[[[
{"a":{"a": "error":1, "client_id":"", __proto__ , : ; " ' ''' \ / .. . = & ? # + % %00 %0d%0a
%2e%2e%2f %ff @ * <script> javascript: https:// //evil.example e30 crit "alg":"none" max-age=
_method=get&"#;

/// Such pieces with blanks in them, and bytes that are no text.
const OTHERS: &[&[u8]] = &[
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
    b"[[a]]\n",
    b"Bearer ",
    b"Basic Og==",
];

/// Bytes that are printed as a literal, to be copied into a test.
#[derive(Clone)]
pub(super) struct Shown(pub(super) Vec<u8>);

impl Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// One change of bytes.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(Index, u8),
    Cut(Index, usize),
    Duplicate(Index, usize),
    Insert(Index, &'static [u8]),
    Repeat(Index, u8, usize),
    Stack(Index, &'static [u8], usize),
    Splice(Index, Index, Vec<u8>),
}

impl Mutation {
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
            Self::Duplicate(index, length) => {
                let from = at(index, bytes);
                let to = bytes.len().min(from + length);
                let piece = bytes[from..to].to_vec();
                bytes.splice(to..to, piece);
            }
            Self::Insert(index, piece) => {
                let at = at(index, bytes);
                bytes.splice(at..at, piece.iter().copied());
            }
            Self::Repeat(index, byte, length) => {
                let at = at(index, bytes);
                bytes.splice(at..at, std::iter::repeat_n(*byte, *length));
            }
            Self::Stack(index, piece, times) => {
                let at = at(index, bytes);
                bytes.splice(at..at, piece.repeat(*times));
            }
            Self::Splice(index, cut, other) => {
                bytes.truncate(at(index, bytes));
                bytes.extend_from_slice(&other[at(cut, other)..]);
            }
        }
    }
}

fn pieces() -> Vec<&'static [u8]> {
    let words = WORDS.split_whitespace().map(str::as_bytes);
    words.chain(OTHERS.iter().copied()).collect()
}

fn mutation(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        8 => (index(), 1..=255_u8).prop_map(|(at, by)| Mutation::Flip(at, by)),
        8 => (index(), 1..40_usize).prop_map(|(at, length)| Mutation::Cut(at, length)),
        8 => (index(), 1..200_usize).prop_map(|(at, length)| Mutation::Duplicate(at, length)),
        12 => (index(), select(pieces())).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        4 => (index(), any::<u8>(), 1..400_usize)
            .prop_map(|(at, byte, length)| Mutation::Repeat(at, byte, length)),
        // Deep, long, and now and then larger than any endpoint accepts.
        1 => (index(), select(pieces()), 1..8_000_usize)
            .prop_map(|(at, piece, times)| Mutation::Stack(at, piece, times)),
        3 => (index(), index(), select(seeds))
            .prop_map(|(at, cut, other)| Mutation::Splice(at, cut, other)),
    ]
}

/// One of `seeds` with up to five mutations; one time in nine nothing but noise.
pub(super) fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Shown> {
    let mutations = vec(mutation(seeds.clone()), 0..6);
    let mutated = (select(seeds), mutations).prop_map(|(mut bytes, mutations)| {
        mutations.iter().for_each(|it| it.apply(&mut bytes));
        bytes
    });
    prop_oneof![8 => mutated, 1 => vec(any::<u8>(), 0..200)].prop_map(Shown)
}
