//! What may not be in a story: something lost, something had twice, a person taken
//! for another.
//!
//! What was answered stands. What was not answered may have happened or not; where
//! one broker was there all the time, its ledger says which. Times are judged only
//! where the broker's clock leaves no doubt, whenever in a call it was read.

mod people;
#[cfg(test)]
mod tests;

use broker::audit::Step;

use super::ledger::Facts;
use super::story::{Deed, Flow, Story, Telling};
use super::told::Told;
use crate::history::{Call, Heard, History, Thing, Violation as Wrong};
pub(crate) use people::People;

/// How long things live, by the specification; a code, by the kit's own choice.
const LOGIN_LIVES_MS: i64 = 600_000;
const CODE_LIVES_MS: i64 = 60_000;
const TOKEN_LIVES_MS: i64 = 900_000;

/// What is wrong with a story, in a sentence.
pub(crate) type Violation = String;

/// A thing that is had once: who asks for it, and which step that is.
struct Single {
    thing: Thing,
    deed: Deed,
    step: Step,
}

/// From when to when something surely was there: from the answer that gave it, for
/// as long as it lives.
#[derive(Clone, Copy)]
struct Life {
    began_ns: u64,
    surely_until_ms: i64,
    surely_over_ms: i64,
}

impl Life {
    fn of(given: &Telling, lifetime_ms: i64) -> Self {
        Self {
            began_ns: given.told_ns,
            surely_until_ms: given.asked_ms + lifetime_ms,
            surely_over_ms: given.told_ms + lifetime_ms,
        }
    }

    fn surely_holds(self, asked: &Telling) -> bool {
        self.began_ns <= asked.asked_ns && asked.told_ms < self.surely_until_ms
    }

    fn is_surely_over(self, asked: &Telling) -> bool {
        asked.asked_ms >= self.surely_over_ms
    }
}

/// Everything that is wrong with `story`, given what the ledger has of it.
pub(crate) fn judge(story: &Story, facts: &Facts, people: &mut People) -> Vec<Violation> {
    let mut wrong = Vec::new();
    wrong.extend(strange(story));
    wrong.extend(exchanged_twice(story, facts));
    wrong.extend(strayed(story));
    match story.flow {
        Flow::Clean => clean(story, facts, &mut wrong),
        Flow::Legacy => legacy(story, facts, &mut wrong),
    }
    wrong.extend(people.judge(story));
    wrong
}

fn clean(story: &Story, facts: &Facts, wrong: &mut Vec<Violation>) {
    let opens = story.of(|it| it == Deed::Open);
    let opened = opens.iter().rfind(|it| it.told.is_grant());
    let life = opened.map(|opened| Life::of(opened, LOGIN_LIVES_MS));
    let key = Single {
        thing: Thing::SessionKey,
        deed: Deed::Open,
        step: Step::Opened,
    };
    if !may_be_free_again(&opens) {
        wrong.extend(key.judge(story, facts, None));
    }
    let result = Single {
        thing: Thing::Result,
        deed: Deed::Read,
        step: Step::ResultConsumed,
    };
    wrong.extend(result.judge(story, facts, life));
    wrong.extend(life.and_then(|life| left_pending(story, facts, life)));
    if facts.count(Step::Completed) > 1 {
        wrong.push("a login was settled twice".to_owned());
    }
    wrong.extend(let_in(story, life));
}

/// A key is taken for as long as a login lives. Whoever registers it then begins
/// another.
fn may_be_free_again(opens: &[&Telling]) -> bool {
    let first_ms = opens.first().map(|it| it.asked_ms);
    let last_ms = opens.iter().map(|it| it.told_ms).max();
    first_ms
        .zip(last_ms)
        .is_some_and(|(first_ms, last_ms)| last_ms - first_ms >= LOGIN_LIVES_MS)
}

fn legacy(story: &Story, facts: &Facts, wrong: &mut Vec<Violation>) {
    let upstream_login = Single {
        thing: Thing::UpstreamLogin,
        deed: Deed::Return(0),
        step: Step::UpstreamLoginConsumed,
    };
    let departed = story.of(|it| it == Deed::Visit);
    let departed = departed.into_iter().rfind(|it| it.told == Told::Departed);
    let life = departed.map(|departed| Life::of(departed, LOGIN_LIVES_MS));
    wrong.extend(upstream_login.judge(story, facts, life));
    let issued = story.of(|it| matches!(it, Deed::Return(_)));
    let issued = issued.into_iter().find(|it| it.told == Told::Code);
    let code = issued.map(|issued| Life::of(issued, CODE_LIVES_MS));
    let redemption = Single {
        thing: Thing::Code,
        deed: Deed::Redeem,
        step: Step::CodeRedeemed,
    };
    wrong.extend(redemption.judge(story, facts, code));
    let forged = story.of(|it| it == Deed::RedeemWrongly);
    if forged.iter().any(|it| it.told == Told::Token) {
        wrong.push("a code was redeemed with a wrong verifier".to_owned());
    }
    wrong.extend(token(story));
}

impl Single {
    /// `life` is when it could be had; without one there is no telling.
    fn judge(&self, story: &Story, facts: &Facts, life: Option<Life>) -> Option<Violation> {
        let asked = story.of(|it| it == self.deed);
        let (name, count) = (self.thing.name(), facts.count(self.step));
        let granted = asked.iter().filter(|it| it.told.is_grant()).count();
        match self.history(&asked).check() {
            Err(Wrong::Twice) => return Some(format!("a {name} was had twice")),
            Err(Wrong::Late) => return Some(format!("a {name} was gone and still promised")),
            // That depends on what the ledger says.
            Err(Wrong::Never) | Ok(()) => {}
        }
        if count > 1 {
            return Some(format!("a {name} was had twice, says the ledger"));
        }
        if granted == 1 && count == 0 {
            return Some(format!(
                "a {name} was had, and the ledger knows nothing of it"
            ));
        }
        if granted == 0 && count == 1 && !asked.iter().any(|it| it.told.is_open()) {
            return Some(format!("a {name} was used up, and everybody was refused"));
        }
        let life = life?;
        if asked
            .iter()
            .any(|it| life.is_surely_over(it) && it.told.is_grant())
        {
            return Some(format!("a {name} was had after its time"));
        }
        (granted == 0 && count == 0)
            .then(|| self.lost(&asked, life))
            .flatten()
    }

    /// Nobody has it. Then nobody may have been refused it in its time, unless a
    /// broker died that may have given it away.
    fn lost(&self, asked: &[&Telling], life: Life) -> Option<Violation> {
        let may_be_gone =
            |it: &&&Telling| it.told == Told::Unable || (it.told.is_open() && !it.is_settled);
        let first_doubt_ns = asked.iter().find(may_be_gone).map(|it| it.asked_ns);
        let is_lost = |it: &&&Telling| {
            matches!(it.told, Told::Refused(_))
                && life.surely_holds(it)
                && first_doubt_ns.is_none_or(|doubt_ns| it.told_ns < doubt_ns)
        };
        let lost = asked.iter().find(is_lost)?;
        Some(format!("a {} was lost: {:?}", self.thing.name(), lost.told))
    }

    fn history(&self, asked: &[&Telling]) -> History {
        let calls = asked.iter().map(|it| Call {
            invoked_ns: it.asked_ns,
            returned_ns: it.told_ns,
            heard: match &it.told {
                told if told.is_grant() => Heard::Granted,
                Told::Pending => Heard::NotYet,
                Told::Refused(_) => Heard::Refused,
                _ => Heard::Nothing,
            },
        });
        History {
            thing: self.thing,
            calls: calls.collect(),
        }
    }
}

/// Whoever came home in time has an outcome for the backend to read.
fn left_pending(story: &Story, facts: &Facts, life: Life) -> Option<Violation> {
    let returns = story.of(|it| matches!(it, Deed::Return(_)));
    let is_settling = |it: &&Telling| match it.told {
        Told::Home => true,
        Told::Nothing => facts.count(Step::Completed) == 1,
        _ => false,
    };
    let are_all_home = returns
        .iter()
        .all(|it| it.is_settled && life.surely_holds(it) && is_settling(it));
    // One that the wire kept from the broker changes nothing, but then another one
    // must have been answered.
    let is_home = are_all_home && returns.iter().any(|it| it.told == Told::Home);
    let last_home_ns = returns.iter().map(|it| it.told_ns).max()?;
    let reads = story.of(|it| it == Deed::Read);
    let pending = reads
        .iter()
        .find(|it| it.told == Told::Pending && it.asked_ns > last_home_ns)?;
    is_home.then(|| {
        let later_ms = pending.asked_ms - life.surely_until_ms + LOGIN_LIVES_MS;
        format!("a login was lost: pending {later_ms} ms after it began, its browser home")
    })
}

/// A browser that was granted the login keeps it: no other gets on.
fn let_in(story: &Story, life: Option<Life>) -> Option<Violation> {
    let life = life?;
    let claimed = story.of(|it| it == Deed::Visit);
    let claimed = claimed.into_iter().find(|it| it.told == Told::Departed)?;
    let others = story.of(|it| it == Deed::Intrude);
    let in_time = |it: &&&Telling| it.asked_ns > claimed.told_ns && life.surely_holds(it);
    let got_on = others
        .iter()
        .filter(in_time)
        .any(|it| it.told == Told::Departed);
    got_on.then(|| "another browser was let into a login".to_owned())
}

/// A callback counts in the browser that made the upstream login, and in no other.
fn strayed(story: &Story) -> Option<Violation> {
    let strays = story.of(|it| it == Deed::Stray);
    let is_turned_away = |it: &&Telling| it.told.is_open() || it.told == Told::Refused(400);
    let counted = strays.into_iter().find(|it| !is_turned_away(it))?;
    Some(format!(
        "a callback counted in another browser: {:?}",
        counted.told
    ))
}

/// A token is good from its redemption on, until it ends or is ended.
fn token(story: &Story) -> Option<Violation> {
    let issued = story.granted(Deed::Redeem)?;
    let life = Life::of(issued, TOKEN_LIVES_MS);
    let may_end = |it: &&&Telling| match it.deed {
        Deed::Revoke => true,
        // A second redemption ends it, heard or not.
        Deed::Redeem => !std::ptr::eq(**it, issued),
        _ => false,
    };
    let all = story.of(|_| true);
    let ends: Vec<_> = all.iter().filter(may_end).collect();
    let first_ns = ends.iter().map(|it| it.asked_ns).min().unwrap_or(u64::MAX);
    let ended_ns = ends
        .iter()
        .filter(|it| surely_ends(it, issued))
        .map(|it| it.told_ns)
        .min()
        .unwrap_or(u64::MAX);
    story
        .of(|it| it == Deed::Profile)
        .into_iter()
        .find_map(|it| match &it.told {
            Told::Refused(_) if it.told_ns < first_ns && life.surely_holds(it) => {
                Some("a token was lost: it was refused before its end".to_owned())
            }
            Told::Profile(_) if it.asked_ns > ended_ns || life.is_surely_over(it) => {
                Some("a token outlived its end".to_owned())
            }
            _ => None,
        })
}

/// Whether it was answered that the token is over: by a revocation, or by refusing
/// its code while that was still known.
fn surely_ends(telling: &Telling, issued: &Telling) -> bool {
    match (telling.deed, &telling.told) {
        (Deed::Revoke, Told::Revoked) => true,
        (Deed::Redeem, Told::Refused(_)) => telling.asked_ns > issued.told_ns,
        _ => false,
    }
}

/// One code of a provider is exchanged once: each upstream login has one.
fn exchanged_twice(story: &Story, facts: &Facts) -> Option<Violation> {
    let codes = u32::try_from(story.casts.len()).unwrap_or(u32::MAX);
    (facts.exchanges > codes || facts.count(Step::UpstreamLoginConsumed) > codes).then(|| {
        let exchanges = facts.exchanges;
        format!("{exchanges} exchanges with the provider for {codes} of its codes")
    })
}

fn strange(story: &Story) -> Option<Violation> {
    story.tellings.iter().find_map(|it| match &it.told {
        Told::Strange(what) => Some(format!("no answer to {:?}: {what}", it.deed)),
        _ => None,
    })
}
