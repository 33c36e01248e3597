//! The attacks of the relay lesson, as the page shows them.

use broker::relay::RelayGuard;
use contract::LoginLifetime;

use super::progress::LessonEvent;
use crate::attacks::Attack;
use crate::facts::{Fact, LoginFlow, Outcome};
use crate::labels;

/// The attacker's desk.
pub(super) struct AttackerDesk {
    /// The names of the relay guard's settings, each with whether it is set.
    pub(super) guards: [(&'static str, bool); 3],
    /// Newest first.
    pub(super) attacks: Vec<AttackView>,
}

/// One attack.
pub(super) struct AttackView {
    pub(super) login: String,
    pub(super) flow: &'static str,
    pub(super) link: String,
    /// The time at which it expires, in Unix milliseconds, and the time that is left.
    pub(super) expires: (i64, String),
    pub(super) state: &'static str,
    /// The demo's answer to the attacker who came back, in a sentence.
    pub(super) read: Option<String>,
    /// Whether the attacker is signed in.
    pub(super) is_in: bool,
    /// Whether the broker has seen it, so that there is a diagram.
    pub(super) is_known: bool,
}

impl AttackerDesk {
    pub(super) fn new(
        attacks: impl DoubleEndedIterator<Item = Attack>,
        events: &[LessonEvent<'_>],
        relay_guard: RelayGuard,
        now_ms: i64,
    ) -> Self {
        let guard = |guard: RelayGuard| (guard.as_str(), guard == relay_guard);
        let newest_first = attacks.rev();
        Self {
            guards: [RelayGuard::Auto, RelayGuard::Always, RelayGuard::Off].map(guard),
            attacks: newest_first
                .map(|attack| AttackView::new(attack, events, now_ms))
                .collect(),
        }
    }
}

impl AttackView {
    fn new(attack: Attack, events: &[LessonEvent<'_>], now_ms: i64) -> Self {
        let its: Vec<_> = events
            .iter()
            .filter(|it| it.event.login.as_deref() == Some(&attack.login))
            .collect();
        let expires_at = attack.at + LoginLifetime::MS;
        let progress = its.iter().rev().find_map(|it| state(it.meaning.fact));
        Self {
            flow: labels::flow(Some(attack.flow)),
            expires: (expires_at, labels::minutes(expires_at - now_ms)),
            state: progress.unwrap_or("waits for the victim"),
            read: attack.is_in.map(|is_in| report(is_in, attack.flow, &its)),
            is_in: attack.is_in == Some(true),
            is_known: !its.is_empty(),
            login: attack.login,
            link: attack.link,
        }
    }
}

/// The progress of the victim, by the last fact that shows it.
fn state(fact: Fact) -> Option<&'static str> {
    Some(match fact {
        Fact::Asked => "opened by the victim, who is asked",
        Fact::SentToProvider => "opened by the victim, who was not asked",
        Fact::Authorized => "opened by the victim",
        Fact::Confirmed => "the victim pressed Continue",
        Fact::Cancelled => "the victim pressed Cancel: it is over",
        Fact::AskedOnReturn => "the victim is back from the provider, and is asked",
        Fact::FailedThere => "the sign-in failed: it is over",
        Fact::CameBack => "the victim signed in: the result is ready",
        Fact::CameBackWithCode => "the victim signed in: the code went to the victim’s browser",
        Fact::SignedIn | Fact::Failed => "the result was read",
        _ => return None,
    })
}

/// The demo's answer to the attacker, in a sentence.
fn report(is_in: bool, flow: LoginFlow, events: &[&LessonEvent<'_>]) -> String {
    let outcome = events.iter().rev().find_map(|it| it.meaning.outcome());
    match (is_in, outcome) {
        (true, Some(Outcome::SignedIn(user))) => {
            format!("The demo has signed the attacker in as {user}.")
        }
        (true, _) => "The demo has signed the attacker in.".to_owned(),
        (false, Some(Outcome::Failed(error))) => {
            format!("The attacker is not signed in: the login failed with {error}.")
        }
        (false, _) if flow == LoginFlow::Legacy => {
            "The attacker is not signed in: their browser has no code and no state.".to_owned()
        }
        (false, _) => "The attacker is not signed in: there is no result yet.".to_owned(),
    }
}
