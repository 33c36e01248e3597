//! The labels of sign-ins, by which an entry of the queue can wait for its own.

use std::fmt;
use std::sync::Arc;

/// A function from the `state` of an authorization request to the label of its sign-in.
///
/// The mock knows one client. A program that signs users in for several of its own labels
/// its sign-ins, and [queues entries for a label](crate::Upstream::queue_for).
#[derive(Clone)]
pub struct Labels(Arc<LabelOf>);

type LabelOf = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Labels {
    /// Labels that `label_of` gives, once for each sign-in.
    pub fn new(label_of: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(label_of))
    }

    /// No sign-in has a label.
    #[must_use]
    pub fn none() -> Self {
        Self::new(|_| None)
    }

    /// The label of the sign-in with this `state`.
    pub(crate) fn of(&self, state: &str) -> Option<String> {
        (self.0)(state)
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Labels")
    }
}
