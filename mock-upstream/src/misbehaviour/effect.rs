//! The effects of the misbehaviours: each part of a sign-in, and the ways in which it goes wrong.
//! The provider carries them out where it makes the good response, and matches all of a part.

use serde_json::Value;

use crate::User;
use crate::expiring_store::HeapSize;
use crate::http::Delivery;

/// The part of a sign-in that goes wrong, and how.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    /// The account is an odd one.
    User(fn(&mut User)),
    /// The callback.
    Callback(CallbackFault),
    /// The response to the token call.
    TokenCall(TokenFault),
    /// Google's ID token.
    IdToken(IdTokenFault),
    /// GitHub's `/user`.
    Account(AccountFault),
    /// GitHub's `/user/emails`.
    Emails(ResponseFault),
}

#[derive(Clone, Copy)]
pub(crate) enum CallbackFault {
    /// This error, with the description that GitHub sends.
    Error(&'static str, &'static str),
    NoCode,
    WrongIssuer,
}

/// The seconds in `Retry-After`.
type RetryAfter = Option<&'static str>;

#[derive(Clone, Copy)]
pub(crate) enum TokenFault {
    /// The code is refused, as an unknown one is.
    Refused,
    /// The status, the error and its description.
    Error(u16, &'static str, &'static str, RetryAfter),
    Response(ResponseFault),
}

#[derive(Clone, Copy)]
pub(crate) enum IdTokenFault {
    Claims(fn(&mut Value)),
    /// Two members `sub`, the forged one first.
    TwoSubs,
    BadSignature,
    UnknownKid,
    NoKid,
    AlgNone,
    AlgHs256,
    AlgEs256,
    StaleKeys,
    /// The `kid` is new, and the next response with the keys is this one.
    Keys(ResponseFault),
}

#[derive(Clone, Copy)]
pub(crate) enum AccountFault {
    /// With this status.
    PrimaryLimit(u16, RetryAfter),
    SecondaryLimit(RetryAfter),
    BadToken,
    ServerError,
    Members(fn(&mut Value)),
    Response(ResponseFault),
}

/// A fault that any response can have.
#[derive(Clone, Copy)]
pub(crate) enum ResponseFault {
    Delivered(Delivery),
    /// A page with this status of a server that failed.
    ErrorPage(u16),
    /// The page of a network that requires a login of its own.
    NetworkLogin,
    FirstHalf,
    PlainText,
    Body(&'static str),
    EachMemberTwice,
    GzipBomb,
    /// To another host, with this status.
    Redirect(u16),
}

impl HeapSize for ResponseFault {}

pub(super) fn remove(object: &mut Value, name: &str) {
    object.as_object_mut().map(|members| members.remove(name));
}

/// Moves an ID token to another time.
pub(super) fn shift(claims: &mut Value, seconds: i64) {
    for name in ["iat", "exp"] {
        let time = claims[name].as_i64().unwrap_or_default();
        claims[name] = (time + seconds).into();
    }
}
