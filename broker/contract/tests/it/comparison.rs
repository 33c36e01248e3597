//! Traits that a secret must not have: `==`, because only its digest or a comparison in
//! constant time may compare it, and `Clone`, if it may be used only once.

use std::marker::PhantomData;

use contract::{
    AccessToken, AuthorizationUrl, ClientId, ClientSecret, CodeVerifier, Digest, HandoffCode,
    SessionKey, State,
};

/// Detects the traits of `T`: an inherent constant takes precedence over that of a
/// trait, and exists only if its bound holds.
struct Traits<T: ?Sized>(PhantomData<T>);

trait Otherwise {
    const HAS_EQUALITY: bool = false;
    const IS_ANOTHER_TEXT: bool = false;
    const IS_CLONE: bool = false;
}

impl<T: ?Sized> Otherwise for Traits<T> {}

impl<T: PartialEq + ?Sized> Traits<T> {
    const HAS_EQUALITY: bool = true;
}

impl<T: AsRef<str> + ?Sized> Traits<T> {
    const IS_ANOTHER_TEXT: bool = true;
}

impl<T: Clone> Traits<T> {
    const IS_CLONE: bool = true;
}

/// Asserts that no `==` compares secrets of these types.
macro_rules! cannot_be_compared {
    ($($secret:ty),+) => {
        $(
            assert!(!Traits::<$secret>::HAS_EQUALITY, "{} has ==", stringify!($secret));
            assert!(!Traits::<$secret>::IS_ANOTHER_TEXT, "{} is a text", stringify!($secret));
        )+
    };
}

// Threats: A13.
#[test]
fn no_secret_has_a_comparison_of_its_own() {
    cannot_be_compared!(
        AccessToken,
        AuthorizationUrl,
        ClientSecret,
        CodeVerifier,
        HandoffCode,
        SessionKey,
        State
    );
}

#[test]
fn a_secret_that_may_be_used_once_cannot_be_cloned() {
    const {
        assert!(!Traits::<AccessToken>::IS_CLONE);
        assert!(!Traits::<AuthorizationUrl>::IS_CLONE);
        assert!(!Traits::<CodeVerifier>::IS_CLONE);
        assert!(!Traits::<HandoffCode>::IS_CLONE);
    }
}

// Threats: A13.
#[test]
fn the_check_detects_a_comparison() {
    const {
        assert!(Traits::<ClientId>::HAS_EQUALITY);
        assert!(Traits::<Digest>::HAS_EQUALITY);
        assert!(Traits::<String>::IS_ANOTHER_TEXT);
        assert!(Traits::<ClientId>::IS_CLONE);
    }
}
