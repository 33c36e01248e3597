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
        (Flow::Legacy, Deed::Return(trip)) => explains(story, trip, error),
        _ => (0..story.casts.len()).any(|trip| explains(story, trip, error)),
    };
    (!is_right).then(|| format!("it failed with {error}, which nobody has caused"))
}

/// Whether what happened at the provider leads to `error`.
fn explains(story: &Story, trip: usize, error: &str) -> bool {
    let Some(cast) = story.casts.get(trip) else {
        return false;
    };
    let is_late = || {
        let returns = story.of(|it| it == Deed::Return(trip));
        returns
            .iter()
            .any(|it| it.told_ms - cast.at_ms >= SHORTEST_CODE_MS)
    };
    cast.errors.contains(&error)
        || (cast.is_shadowed && error == "provider_unavailable")
        || (error == "invalid_provider_response" && is_late())
}

/// Who was at the provider on a trip that came back.
fn casts(story: &Story) -> impl Iterator<Item = &Cast> {
    let has_returned = |trip: usize| {
        story
            .tellings
            .iter()
            .any(|it| it.deed == Deed::Return(trip))
    };
    let casts = story.casts.iter().enumerate();
    casts.filter_map(move |(trip, cast)| has_returned(trip).then_some(cast))
}
