//! The ends of a login, by which the sign-in page groups the misbehaviours.

use super::{Group, Misbehaviour};
use crate::Provider;

/// The misbehaviours of a provider with which a login ends alike.
pub(crate) struct Ending {
    /// The error that the login ends with; `None` if it succeeds.
    pub(crate) error: Option<&'static str>,
    pub(crate) groups: Vec<(Group, Vec<Misbehaviour>)>,
}

impl Ending {
    /// The ends that `provider` can cause, in the order in which their first misbehaviours
    /// are in the table; success is the last one.
    pub(crate) fn all_at(provider: Provider) -> Vec<Self> {
        let mut errors = Vec::new();
        for misbehaviour in Misbehaviour::of(provider) {
            if !errors.contains(&misbehaviour.error()) {
                errors.push(misbehaviour.error());
            }
        }
        errors.sort_by_key(Option::is_none);
        let endings = errors.into_iter().map(|error| Self {
            error,
            groups: Misbehaviour::ending_with(provider, error),
        });
        endings.collect()
    }
}
