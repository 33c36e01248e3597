//! A secret can be compared only by its digest, or by what compares in constant time:
//! its type has no `==`.

use std::marker::PhantomData;

use contract::{
    AccessToken, AuthorizationUrl, ClientId, ClientSecret, CodeVerifier, Digest, HandoffCode,
    SessionKey, State,
};

/// Asks the compiler about `T`: what is defined on the type itself goes before what a
/// trait brings, and is there only if its bound holds.
struct Ask<T: ?Sized>(PhantomData<T>);

trait Otherwise {
    const HAS_EQUALITY: bool = false;
    const IS_ANOTHER_TEXT: bool = false;
}

impl<T: ?Sized> Otherwise for Ask<T> {}

impl<T: PartialEq + ?Sized> Ask<T> {
    const HAS_EQUALITY: bool = true;
}

impl<T: AsRef<str> + ?Sized> Ask<T> {
    const IS_ANOTHER_TEXT: bool = true;
}

/// Asserts that no `==` compares secrets of these types.
macro_rules! cannot_be_compared {
    ($($secret:ty),+) => {
        $(
            assert!(!Ask::<$secret>::HAS_EQUALITY, "{} has ==", stringify!($secret));
            assert!(!Ask::<$secret>::IS_ANOTHER_TEXT, "{} is a text", stringify!($secret));
        )+
    };
}

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
fn the_question_can_be_answered_otherwise() {
    const {
        assert!(Ask::<ClientId>::HAS_EQUALITY);
        assert!(Ask::<Digest>::HAS_EQUALITY);
        assert!(Ask::<String>::IS_ANOTHER_TEXT);
    }
}
