//! The transaction that a consumer keeps during a legacy login.

use contract::Transaction;
use serde_json::{Value, json};

const NOW: i64 = 1_790_000_000;
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// RFC 7636, appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn begun() -> Transaction {
    Transaction::begin(
        "s".repeat(43).parse().unwrap(),
        VERIFIER.parse().unwrap(),
        NOW,
    )
}

fn as_json() -> Value {
    json!({
        "state": "s".repeat(43),
        "codeVerifier": VERIFIER,
        "codeChallenge": CHALLENGE,
        "createdAt": NOW,
        "expiresAt": NOW + 600,
    })
}

#[test]
fn a_transaction_has_five_fields_in_camel_case_and_lives_600_seconds() {
    assert_eq!(serde_json::to_value(begun()).unwrap(), as_json());
    let read: Transaction = serde_json::from_value(as_json()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), as_json());
}

#[test]
fn a_transaction_with_a_field_more_or_less_is_not_read() {
    for field in as_json().as_object().unwrap().keys() {
        let mut partial = as_json();
        partial.as_object_mut().unwrap().remove(field);
        assert!(serde_json::from_value::<Transaction>(partial).is_err());
    }
    let mut larger = as_json();
    larger["clientSecret"] = json!("x");
    assert!(serde_json::from_value::<Transaction>(larger).is_err());
}

#[test]
fn a_transaction_is_live_until_its_last_second_begins() {
    assert!(begun().is_live(NOW));
    assert!(begun().is_live(NOW + 599));
    assert!(!begun().is_live(NOW + 600));
    assert!(!begun().is_live(NOW + 601));
}
