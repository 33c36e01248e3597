//! The use cases of both flows: everything between a parsed request and its answer.
//!
//! A use case takes parsed values, asks the [`store`](crate::store) for its steps and
//! a provider for the user, fills in the request's [`Event`](crate::audit::Event), and
//! returns an [`BrowserAnswer`] for a browser, a value for a backend, or the [`Refused`]
//! request. Statuses, headers, cookies and pages are the business of
//! [`http`](crate::http).
//!
//! | module | use cases |
//! |---|---|
//! | [`clean`] | a backend starts a login session, and reads its result |
//! | [`visit`] | a browser opens an authorization URL, and answers its question |
//! | [`legacy`] | a browser asks for authorization; a backend redeems, reads, revokes |
//! | [`callback`] | a browser comes back from its provider, in either flow |

pub(crate) mod clean;
pub(crate) mod visit;

pub(crate) mod legacy;

pub(crate) mod callback;

mod answer;
mod broker_core;

pub(crate) use answer::{
    BrowserAnswer, ClientRedirect, Confirmation, LegacyOutcome, ProviderRedirect, Question, Refused,
};
pub(crate) use broker_core::{BrokerCore, CallObserver};
