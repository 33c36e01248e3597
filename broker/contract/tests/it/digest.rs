//! SHA-256, its text and its purposes.

use contract::{Digest, Malformed, Rule};
use proptest::prelude::*;

/// FIPS 180-2, appendix B.1: the SHA-256 of "abc".
const ABC: [u8; 32] = [
    0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
];

#[test]
fn a_digest_is_sha_256() {
    assert_eq!(Digest::of(b"abc").as_bytes(), &ABC);
    assert_eq!(Digest::of(b"abc"), Digest::from_bytes(ABC));
}

// Threats: CVE-2023-48309.
#[test]
fn one_secret_for_two_purposes_makes_two_unrelated_digests() {
    let secret = b"a secret";
    assert_eq!(Digest::derive("a", secret), Digest::derive("a", secret));
    assert_ne!(Digest::derive("a", secret), Digest::derive("b", secret));
    assert_ne!(Digest::derive("a", secret), Digest::of(secret));
    assert_ne!(Digest::derive("", secret), Digest::of(secret));
}

#[test]
fn a_purpose_ends_where_the_secret_begins() {
    assert_ne!(Digest::derive("ab", b"c"), Digest::derive("a", b"bc"));
    assert_eq!(Digest::derive("ab", b"c"), Digest::of(b"ab\x1Fc"));
}

#[test]
fn the_text_of_a_digest_is_43_characters_of_canonical_base64url() {
    let text = Digest::of(b"abc").to_text();
    assert_eq!(text, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
    #[track_caller]
    fn refused(text: &str) {
        assert_eq!(text.parse::<Digest>(), Err(Malformed(Rule::DigestText)));
    }
    refused("");
    refused(&text[..42]);
    refused(&format!("{text}A"));
    refused(&format!("{text}="));
    refused(&text.replace('-', "+"));
    refused(&format!("{}1", &text[..42]));
    refused("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

proptest! {
    #[test]
    fn every_digest_comes_back_from_its_text(bytes in any::<[u8; 32]>()) {
        let digest = Digest::from_bytes(bytes);
        let text = digest.to_text();
        prop_assert_eq!(text.len(), 43);
        prop_assert_eq!(text.parse::<Digest>(), Ok(digest));
        prop_assert_eq!(digest.as_bytes(), &bytes);
    }

    // Threats: A13, d91abd90, RAUTHY-005.
    #[test]
    fn digests_are_equal_only_in_every_byte(
        bytes in any::<[u8; 32]>(), at in 0..32_usize, flip in 1..=255_u8
    ) {
        let mut other = bytes;
        other[at] ^= flip;
        prop_assert!(Digest::from_bytes(bytes) != Digest::from_bytes(other));
    }
}
