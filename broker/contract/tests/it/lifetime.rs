//! `expires_in` accepts one number only.

use contract::{LoginLifetime, TokenLifetime};
use serde_json::{Value, json};

#[test]
fn a_login_lives_600_seconds_and_a_token_900() {
    assert_eq!(serde_json::to_string(&LoginLifetime {}).unwrap(), "600");
    assert_eq!(serde_json::to_string(&TokenLifetime {}).unwrap(), "900");
    assert_eq!((LoginLifetime::SECONDS, LoginLifetime::MS), (600, 600_000));
    assert_eq!((TokenLifetime::SECONDS, TokenLifetime::MS), (900, 900_000));
}

#[test]
fn no_other_number_is_read_as_a_lifetime() {
    fn reads(value: Value) -> bool {
        serde_json::from_value::<LoginLifetime>(value).is_ok()
    }
    assert!(reads(json!(600)));
    for other in [
        json!(599),
        json!(601),
        json!(900),
        json!(0),
        json!(-600),
        json!(600.0),
        json!("600"),
        json!(null),
        json!(4_294_967_896_u64),
    ] {
        assert!(!reads(other.clone()), "{other}");
    }
    assert!(serde_json::from_value::<TokenLifetime>(json!(900)).is_ok());
    assert!(serde_json::from_value::<TokenLifetime>(json!(600)).is_err());
}
