//! Whether everybody is who they are: the person who was at the provider, under
//! one subject for good.

use std::collections::BTreeMap;

use super::Violation;
use crate::soak::story::{Cast, Deed, Flow, Story};
use crate::soak::told::{Told, Who};

/// How long a provider's code is good at the shorter of the two.
const SHORTEST_CODE_MS: i64 = 60_000;

/// Whom the broker has shown so far.
#[derive(Debug, Default)]
pub(crate) struct People {
    /// Subjects by provider and id there.
    subjects: BTreeMap<(String, String), String>,
    /// The other way round.
    owners: BTreeMap<String, (String, String)>,
}

impl People {
    /// What is wrong with who was shown in `story`, or with why nobody was.
    pub(super) fn judge(&mut self, story: &Story) -> Vec<Violation> {
        let mut wrong = Vec::new();
        for telling in &story.tellings {
            match &telling.told {
                Told::Succeeded(who) | Told::Profile(who) => {
                    wrong.extend(is_somebody_else(story, who));
                    wrong.extend(self.is_renamed(who));
                }
                Told::Failed(error) => wrong.extend(failed_for_nothing(story, telling.deed, error)),
                _ => {}
            }
        }
        wrong
    }

    fn is_renamed(&mut self, who: &Who) -> Option<Violation> {
        let person = (who.provider.clone(), who.id.clone());
        let subject = self.subjects.entry(person.clone());
        if *subject.or_insert_with(|| who.subject.clone()) != who.subject {
            return Some(format!("{person:?} has two subjects"));
        }
        let owner = self.owners.entry(who.subject.clone());
        (*owner.or_insert_with(|| person.clone()) != person)
            .then(|| format!("{person:?} has the subject of another person"))
    }
}

/// Whoever is shown was at the provider, and nothing was wrong with that.
fn is_somebody_else(story: &Story, who: &Who) -> Option<Violation> {
    let is_right = who.provider == story.provider.name()
        && casts(story).any(|it| it.id == who.id && it.errors.is_empty());
    (!is_right).then(|| format!("{who:?} was shown, who was not there, or should have failed"))
}

fn failed_for_nothing(story: &Story, deed: Deed, error: &str) -> Option<Violation> {
    let is_right = match (story.flow, deed) {
        (Flow::Legacy, Deed::Return(upstream_login)) => explains(story, upstream_login, error),
        _ => (0..story.casts.len()).any(|upstream_login| explains(story, upstream_login, error)),
    };
    (!is_right).then(|| format!("it failed with {error}, which nobody has caused"))
}

/// Whether what happened at the provider leads to `error`.
fn explains(story: &Story, upstream_login: usize, error: &str) -> bool {
    let Some(cast) = story.casts.get(upstream_login) else {
        return false;
    };
    let is_late = || {
        let returns = story.of(|it| it == Deed::Return(upstream_login));
        returns
            .iter()
            .any(|it| it.told_ms - cast.at_ms >= SHORTEST_CODE_MS)
    };
    cast.errors.contains(&error)
        || (cast.is_shadowed && error == "provider_unavailable")
        || (error == "invalid_provider_response" && is_late())
}

/// Who was at the provider on an upstream login that came back.
fn casts(story: &Story) -> impl Iterator<Item = &Cast> {
    let has_returned = |upstream_login: usize| {
        story
            .tellings
            .iter()
            .any(|it| it.deed == Deed::Return(upstream_login))
    };
    let casts = story.casts.iter().enumerate();
    casts.filter_map(move |(upstream_login, cast)| has_returned(upstream_login).then_some(cast))
}
