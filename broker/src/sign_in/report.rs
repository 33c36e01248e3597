//! The reports of the use cases.

use contract::{ClientId, Provider, Rule};

use crate::audit::Step;
use crate::limits::RetryAfter;
use crate::model::LoginId;
use crate::relay::{Provenance, SameTraits};
use crate::store::StoreError;
use crate::upstream::Failure;

/// The outcome of a use case.
#[must_use = "the log line of the request needs it"]
pub(crate) struct Report<T> {
    /// The fields of the request's log line.
    pub(crate) log: LogFields,
    /// The value to answer with, or the refusal.
    pub(crate) result: Result<T, Refused>,
}

/// The part of a request's audit event that its use case decides. A step in it is
/// committed, whatever the result says.
#[derive(Debug, Default)]
pub(crate) struct LogFields {
    pub(crate) project: Option<ClientId>,
    pub(crate) provider: Option<Provider>,
    pub(crate) login: Option<LoginId>,
    pub(crate) provenance: Option<Provenance>,
    pub(crate) same_traits: Option<SameTraits>,
    /// The rule by which a login failed, or a page asks for confirmation; the rule of
    /// a refusal replaces it.
    pub(crate) rule: Option<Rule>,
    pub(crate) why: Option<&'static str>,
    pub(crate) steps: Vec<Step>,
}

impl LogFields {
    /// Sets the rule and the words for a login that failed at its provider.
    pub(crate) fn set_failure(&mut self, failure: Failure) {
        self.rule = Some(failure.rule());
        self.why = Some(failure.why());
    }
}

/// A refusal: the rule, and the time to wait if waiting helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) rule: Rule,
    pub(crate) retry_after_seconds: Option<u64>,
}

impl From<Rule> for Refused {
    fn from(rule: Rule) -> Self {
        Self {
            rule,
            retry_after_seconds: None,
        }
    }
}

impl From<RetryAfter> for Refused {
    fn from(RetryAfter { rule, seconds }: RetryAfter) -> Self {
        Self {
            rule,
            retry_after_seconds: Some(seconds),
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store could not take a step");
        Rule::StoreReachable.into()
    }
}
