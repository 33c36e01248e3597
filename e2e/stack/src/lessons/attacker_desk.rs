//! The attacks of the relay lesson, as the page shows them.

use broker::relay::RelayGuard;

use super::attacker::{Attack, Read};
use super::fact::Fact;
use crate::inspector::{Outcome, labels};
use crate::login_status::LoginFlow;

/// The lifetime of a login, in milliseconds.
const LIFETIME_MS: i64 = 600_000;

/// The attacker's desk.
pub(super) struct AttackerDesk {
    pub(super) guards: [GuardChoice; 3],
    /// Newest first.
    pub(super) attacks: Vec<AttackView>,
}

/// One setting of the relay guard.
pub(super) struct GuardChoice {
    pub(super) name: &'static str,
    pub(super) is_set: bool,
}

/// One attack.
pub(super) struct AttackView {
    pub(super) login: String,
    pub(super) flow: &'static str,
    pub(super) link: String,
    /// The time at which it expires, in Unix milliseconds, and the time that is left.
    pub(super) expires: (i64, String),
    pub(super) state: String,
    /// The demo's answer to the attacker who came back, in a sentence.
    pub(super) read: Option<String>,
    /// Whether the attacker is signed in.
    pub(super) is_in: bool,
    /// Whether the broker has seen it, so that there is a diagram.
    pub(super) is_known: bool,
}

impl AttackerDesk {
    pub(super) fn new(
        attacks: &[Attack],
        facts: &[Fact<'_>],
        relay_guard: RelayGuard,
        now_ms: i64,
    ) -> Self {
        let guard = |guard: RelayGuard| GuardChoice {
            name: guard.as_str(),
            is_set: guard == relay_guard,
        };
        let newest_first = attacks.iter().rev();
        Self {
            guards: [RelayGuard::Auto, RelayGuard::Always, RelayGuard::Off].map(guard),
            attacks: newest_first
                .map(|attack| AttackView::new(attack, facts, now_ms))
                .collect(),
        }
    }
}

impl AttackView {
    fn new(attack: &Attack, facts: &[Fact<'_>], now_ms: i64) -> Self {
        let its: Vec<_> = facts
            .iter()
            .filter(|fact| fact.event.login.as_deref() == Some(&attack.login))
            .collect();
        let expires_at = attack.at + LIFETIME_MS;
        Self {
            login: attack.login.clone(),
            flow: labels::flow(Some(attack.flow)),
            link: attack.link.clone(),
            expires: (expires_at, labels::minutes(expires_at - now_ms)),
            state: state(attack.flow, &its).to_owned(),
            read: attack.read.map(|read| report(read, attack.flow, &its)),
            is_in: attack.read == Some(Read::SignedIn),
            is_known: !its.is_empty(),
        }
    }
}

/// The progress of the victim, by the last event that shows it.
fn state(flow: LoginFlow, facts: &[&Fact<'_>]) -> &'static str {
    let known = facts.iter().rev().find_map(|fact| {
        Some(match (fact.event.operation.as_str(), fact.event.status?) {
            _ if fact.event.to != "broker" => return None,
            ("GET /login/{handle}", 200) => "opened by the victim, who is asked",
            ("GET /login/{handle}", 303) => "opened by the victim, who was not asked",
            ("GET /authorize", 303) => "opened by the victim",
            ("POST /login/{handle}/continue", 303) => "the victim pressed Continue",
            ("POST /login/{handle}/cancel", 303) => "the victim pressed Cancel: it is over",
            (_, 200) if fact.event.is_question() => {
                "the victim is back from the provider, and is asked"
            }
            (_, 303) if fact.event.is_return() && fact.event.rule.is_some() => {
                "the sign-in failed: it is over"
            }
            (_, 303) if fact.event.is_return() => match flow {
                LoginFlow::Clean => "the victim signed in: the result is ready",
                LoginFlow::Legacy => "the victim signed in: the code went to the victim’s browser",
            },
            ("POST /v1/login/result", 200) if fact.outcome.is_some() => "the result was read",
            _ => return None,
        })
    });
    known.unwrap_or("waits for the victim")
}

/// The demo's answer to the attacker, in a sentence.
fn report(read: Read, flow: LoginFlow, facts: &[&Fact<'_>]) -> String {
    let outcome = facts.iter().rev().find_map(|fact| fact.outcome.as_ref());
    match (read, outcome) {
        (Read::SignedIn, Some(Outcome::SignedIn(user))) => {
            format!("The demo has signed the attacker in as {user}.")
        }
        (Read::SignedIn, _) => "The demo has signed the attacker in.".to_owned(),
        (Read::Refused, Some(Outcome::Failed(error))) => {
            format!("The attacker is not signed in: the login failed with {error}.")
        }
        (Read::Refused, _) if flow == LoginFlow::Legacy => {
            "The attacker is not signed in: their browser has no code and no state.".to_owned()
        }
        (Read::Refused, _) => "The attacker is not signed in: there is no result yet.".to_owned(),
    }
}
