//! The guards of a sign-in as switches, each with the attack that it stops.
//!
//! A small model of both flows: the browser of a user, Ada; the page, the browser and the
//! project of an attacker, Mallory; the app, the broker and the provider. A step is one
//! request. The search visits every state, breadth first. With all guards on, Mallory reaches
//! no [`Goal`](world::Goal), and no login of Ada's is lost. With one off, the first attack
//! that it finds is the shortest. Where another guard holds, it finds the shortest for the two.
//! `guards/attacks.txt` pins them all; `consistency guards` prints it.
//!
//! | module | content |
//! |---|---|
//! | [`guard`] | the guards, each with its place in the code and its rule |
//! | [`world`] | the state, the secrets, the addresses that carry them |
//! | [`app`], [`broker`] | the answers to requests |
//! | [`step`] | the steps of Ada and of Mallory |
//! | [`search`](mod@search) | the search |
//!
//! # Mallory
//!
//! Her page sends Ada's browser to any address that she can write, posts a form there, or
//! frames it. Her own browser forges every header and cookie, and follows no redirect. Beside
//! these, she has **one** power in an attack: she has used Ada's browser before; plants her
//! cookies there; finds an address that Ada's browser has requested; intercepts a code of
//! Ada's own login on its way; or controls the provider that Ada chooses. She starts one login,
//! and her page acts twice at most: once in the searches with a guard off.
//!
//! # Ada
//!
//! She begins one login, goes where its redirects lead, and signs in at the provider without
//! a question whenever her browser gets there. The provider is Google; GitHub has no nonce,
//! so there `upstream-pkce` stops alone what both stop here.
//!
//! # What remains
//!
//! With two powers at once Mallory gets in past all guards, in two ways. She has used Ada's
//! browser and intercepts the code of Ada's legacy login: the session and the state that she
//! then knows are all that ties that login to a browser. Or she controls one provider, sends
//! Ada from there to the other one with the challenge of a login of her own, and intercepts
//! the code, before the broker refuses it.
//!
//! # Not modelled
//!
//! - Time, crashes and races within a request: the other commands of this program have them.
//! - How many cookies and logins a browser may hold.
//! - Plain clients on loopback, which may look at a login without being bound.
//! - The look of a browser, which the app compares: Mallory copies it. The broker compares the
//!   network, too, which she cannot copy.
//! - The provider's account picker, since Ada asks no questions; Cancel, which ends Mallory's
//!   login and so only helps.
//! - The session key, which no step takes out of the app's backend. So nothing depends on who
//!   reads a result, or how often.
//! - The end of a token when its code is replayed: Mallory would read the profile at once.

mod app;
mod broker;
mod guard;
mod search;
mod step;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;

pub use guard::Guard;
pub use search::Attack;
use search::search;
pub use step::Step;
use strum::VariantArray as _;
pub use world::{Address, Flow, Goal, Kind, Page, Place, Provider, User};

use crate::RunError;

/// Prints the attacks.
///
/// # Errors
///
/// If the guards do not hold, or the output is closed.
pub(crate) fn run() -> Result<(), RunError> {
    let searched = search_attacks()?;
    Ok(write!(std::io::stdout(), "{searched}")?)
}

/// The shortest attacks, and how many states were searched for them.
#[derive(Debug)]
pub struct Searched {
    /// The attack on each guard.
    pub attacks: BTreeMap<Guard, Attack>,
    /// The states with no guard off, with one, and with two.
    pub states: [usize; 3],
}

/// Searches for the shortest attack on each guard.
///
/// # Errors
///
/// An attack although all guards are on, or a guard that no attack needs.
pub fn search_attacks() -> Result<Searched, String> {
    let all = Guard::VARIANTS.iter().fold(0, |all, it| all | it.bit());
    let (none, guarded) = search(0, 2, all);
    if let Some(attack) = none.values().next() {
        let (goal, steps) = (attack.goal, steps(attack));
        return Err(format!("With all guards on, {goal}:\n{steps}"));
    }
    let (mut attacks, alone) = search(1, 1, all);
    let others = attacks.keys().fold(all, |others, it| others & !it.bit());
    let (in_pairs, pairs) = search(2, 1, others);
    attacks.extend(in_pairs);
    if let Some(guard) = Guard::VARIANTS.iter().find(|it| !attacks.contains_key(it)) {
        return Err(format!("nothing needs the guard {guard}"));
    }
    Ok(Searched {
        attacks,
        states: [guarded, alone, pairs],
    })
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [guarded, alone, pairs] = self.states;
        writeln!(
            f,
            "All guards on: no attack in {guarded} states. One off: {alone} states. Two off: {pairs}."
        )?;
        for (guard, attack) in &self.attacks {
            let other = attack.off().find(|it| it != guard);
            let other = other.map_or(String::new(), |it| format!(" and {it}"));
            let (says, goal, steps) = (guard.says(), attack.goal, steps(attack));
            write!(f, "\n{guard}: {says}\nWithout it{other}, {goal}:\n{steps}")?;
        }
        Ok(())
    }
}

fn steps(attack: &Attack) -> String {
    let numbered = (1..).zip(&attack.steps);
    numbered
        .map(|(number, step)| format!("{number:3}. {step}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::world::{ADAS, World};
    use super::*;

    #[test]
    fn every_guard_stops_the_attack_that_is_pinned() {
        let advice =
            "`cargo run -p consistency guards` prints e2e/consistency/src/guards/attacks.txt";
        let pinned = include_str!("guards/attacks.txt");
        let searched = search_attacks().map(|it| it.to_string());
        assert!(searched.as_deref() == Ok(pinned), "{advice}");
    }

    #[test]
    fn an_honest_login_succeeds_in_both_flows() {
        for flow in [Flow::Clean, Flow::Legacy] {
            let mut world = World::default();
            world.take(Step::AdaStarts(flow, Provider::Honest));
            while let Page::To(address) = world.tabs[0] {
                let step = Step::AdaGoesOn(address);
                assert!(world.take(step).is_some(), "{step}");
            }
            assert_eq!(world.sessions[ADAS].user, Some(User::Ada), "{flow}");
        }
    }
}
