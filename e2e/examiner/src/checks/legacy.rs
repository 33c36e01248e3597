//! The legacy flow: its state is random, bound to its browser and used once, and PKCE has a
//! verifier that cannot be guessed.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::try_join_all;
use url::Url;

use super::callback::with_query;
use super::corpora::CORPORA;
use super::demands::{absent, no_one_time_call, parameter, session_cookies, worth_nothing};
use super::failures::fail;
use crate::browser::{Browser, Visit};
use crate::random;
use crate::search;
use crate::trial::{IDLE, Trial};
use crate::user::User;
use crate::verdict::{Outcome, Stop, require};

/// The length of 32 bytes in base64url.
const STATE_LENGTH: usize = 43;

/// The length that two random states never share.
const MAX_SHARED: usize = 12;

/// The different values that 32 random bytes have at least; 30 are usual.
const MIN_DIFFERENT_BYTES: usize = 16;

/// `state-present`: of several logins, in one browser and in others.
pub(super) async fn state_present(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    let mut states = Vec::new();
    for round in 0..6 {
        let mut other = trial.user("browser B", "Ben");
        let user = match round % 2 {
            0 => &mut ada,
            _ => &mut other,
        };
        user.open(&trial.testbed.start).await?;
        let mut known = cookie_values(trial, &user.browser);
        let visit = match user.begin_again(None).await? {
            Some(visit) => visit,
            // A visitor's browser, then, in which the logins to come are begun as well.
            None => {
                user.browser = trial.browser("browser A");
                user.begin().await?
            }
        };
        known.extend(cookie_values(trial, &user.browser));
        let state = parameter(&visit.url, "state").unwrap_or_default();
        require(!state.is_empty(), || "the authorization URL has no state")?;
        require_random(&state)?;
        require_unlike(&state, &states)?;
        let is_made_of = |value: &String| *value == state || search::challenge(value) == state;
        let is_id = "the state is the session's id, which the browser holds, or is made of it";
        require(!known.iter().any(is_made_of), || is_id)?;
        states.push(state);
    }
    Ok(())
}

/// The values of the session's cookies, as they are and without an encoding or signature.
fn cookie_values(trial: &Trial<'_>, browser: &Browser) -> HashSet<String> {
    let cookies = session_cookies(trial, browser).into_iter();
    let layers = cookies.flat_map(|cookie| search::layers(&cookie.value));
    let parts = layers.flat_map(|text| {
        let first = text.split(['.', ':']).map(str::to_owned);
        first.chain([text.clone()]).collect::<Vec<_>>()
    });
    // The layers of one that keeps the state itself are longer texts, not the state alone.
    parts.filter(|part| part.len() >= 16).collect()
}

fn require_random(state: &str) -> Outcome {
    // 40 characters are 30 whole bytes; the last bits of the 43rd may be anything.
    let whole = state.get(..40).unwrap_or_default();
    let bytes = URL_SAFE_NO_PAD.decode(whole).unwrap_or_default();
    let length = state.len();
    require(length == STATE_LENGTH && !bytes.is_empty(), || {
        format!("the state has {length} characters, and not 43 of base64url")
    })?;
    let different = bytes.iter().collect::<HashSet<_>>().len();
    let repeats = "the state is not random: its bytes repeat";
    require(different >= MIN_DIFFERENT_BYTES, || repeats)?;
    let is_text = bytes.iter().all(u8::is_ascii_graphic);
    let text = "the state is not random: it is a text in base64url";
    require(!is_text, || text)
}

fn require_unlike(state: &str, others: &[String]) -> Outcome {
    for other in others {
        require(state != other, || "two logins have the same state")?;
        let pairs = || state.bytes().zip(other.bytes());
        let shared = pairs().take_while(|(a, b)| a == b).count();
        let shared = shared.max(pairs().rev().take_while(|(a, b)| a == b).count());
        require(shared < MAX_SHARED, || {
            format!("the states of two logins share {shared} characters: they can be guessed")
        })?;
    }
    Ok(())
}

/// `state-checked`: callbacks with a valid code and a state that is absent or not the
/// transaction's: in the browser that began the login, in one that never began any, and in one
/// that has a session but no login under way.
pub(super) async fn state_checked(trial: &Trial<'_>) -> Outcome {
    let cancelled = cancelled(trial).await?;
    let begun = CORPORA.wrong_states.iter().map(|(change, row)| async move {
        let (ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
        let values = values_of(&callback.url)?;
        Ok::<_, Stop>((change, ada, with_query(callback, row, &values)))
    });
    let begun = try_join_all(begun).await?;
    let mark = trial.mark().await?;
    for (change, ada, callback) in begun {
        let visitor = trial.user_as("browser B", ada.person.clone());
        let mut stranger = cancelled.clone();
        stranger.person = ada.person.clone();
        for (mut user, which) in [
            (visitor, " in a browser that never began a login"),
            (stranger, " in a browser whose login is over"),
            (ada, ""),
        ] {
            let what = format!("a callback {change}{which}");
            worth_nothing(&mut user, callback.clone(), &what, Duration::ZERO).await?;
        }
    }
    let what = "a callback with a wrong state, a moment later,";
    no_one_time_call(trial, &trial.calls(mark).await?, what)
}

/// A browser whose login was cancelled: it has a session, and nothing under way.
async fn cancelled<'t>(trial: &'t Trial<'_>) -> Outcome<User<'t>> {
    let mut user = trial.user("browser C", "Cleo");
    fail(&mut user, "deny").await?;
    Ok(user)
}

/// The values that the rows of a callback's query stand for.
fn values_of(callback: &Url) -> Outcome<[(&'static str, String); 8]> {
    let state = parameter(callback, "state")?;
    // A state may be long, and of any characters.
    let (half, _) = split_before(&state, state.chars().count() / 2);
    let (start, end) = split_before(&state, state.chars().count().saturating_sub(1));
    let other = random::secret();
    let swap = |c: char| match c.is_ascii_lowercase() {
        true => c.to_ascii_uppercase(),
        false => c.to_ascii_lowercase(),
    };
    Ok([
        ("code", parameter(callback, "code")?),
        ("swapped", state.chars().map(swap).collect()),
        ("start", start.to_owned()),
        // Also decoded it is another.
        ("other_end", if end == "A" { "Q" } else { "A" }.to_owned()),
        ("half", half.to_owned()),
        (
            "other_half",
            other.get(half.len()..).unwrap_or(&other).to_owned(),
        ),
        ("other", other),
        ("state", state),
    ])
}

/// The text before a character, counted from 0, and the rest.
fn split_before(text: &str, place: usize) -> (&str, &str) {
    let mut places = text.char_indices();
    text.split_at(places.nth(place).map_or(text.len(), |(place, _)| place))
}

/// `state-bound`: the whole callback of another browser's login, in a browser with a login of
/// its own under way, and in one with a session alone. One without any is `binding-required`.
pub(super) async fn state_bound(trial: &Trial<'_>) -> Outcome {
    let mut begun = trial.user("the victim's browser", "Vera");
    begun.begin().await?;
    for mut victim in [begun, cancelled(trial).await?] {
        let attacker = trial.user_at_callback("the attacker's browser", "Mallory");
        let (attacker, callback) = attacker.await?;
        victim.person = attacker.person;
        let what = "a callback with the state and the code of another browser's login";
        let page = worth_nothing(&mut victim, Visit::typed(&callback.url), what, IDLE).await?;
        let (path, status) = (page.url.path(), page.status);
        require(status < 500 && trial.has_words(&page), || {
            format!("{what} ends at {path} with status {status} and without a page in words")
        })?;
    }
    Ok(())
}

/// `state-once`: after a success, after an error, after a code that the broker refused.
pub(super) async fn state_once(trial: &Trial<'_>) -> Outcome {
    trial.user("browser A", "Ada").sign_in().await?;
    for (which, row) in [
        ("that succeeded", "code={code}&state={state}"),
        ("with an error", "error=access_denied&state={state}"),
        ("with a wrong code", "code={other}&state={state}"),
    ] {
        let (mut ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
        let (ben, fresh) = trial.user_at_callback("browser B", "Ben").await?;
        let first = with_query(callback.clone(), row, &values_of(&callback.url)?);
        ada.visit(first).await?;
        // With a code that was not used, it is the state alone that is.
        let values = [
            ("code", parameter(&fresh.url, "code")?),
            ("state", parameter(&callback.url, "state")?),
        ];
        let again = with_query(callback, "code={code}&state={state}", &values);
        ada.person = ben.person;
        let what = format!("after a callback {which}, another one with the same state");
        worth_nothing(&mut ada, again, &what, IDLE).await?;
    }
    Ok(())
}

/// `pkce`: the method, fresh challenges, no verifier in the browser, none made of the state.
pub(super) async fn pkce(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    let mut challenges = HashSet::new();
    for _ in 0..3 {
        let url = ada.begin().await?.url;
        let value = |name| parameter(&url, name).ok();
        let challenge = value("code_challenge").unwrap_or_default();
        let none = "the authorization URL has no code_challenge";
        require(!challenge.is_empty(), || none)?;
        let method = value("code_challenge_method").unwrap_or_else(|| "none".to_owned());
        require(method == "S256", || {
            format!("the code_challenge_method is {method}")
        })?;
        let state = value("state").unwrap_or_default();
        require(challenge != state, || "the code_challenge is the state")?;
        let derived = "the code_verifier is made of the state, which every log of addresses has";
        require(!derived_from(&state).contains(&challenge), || derived)?;
        let is_fresh = challenges.insert(challenge);
        require(is_fresh, || "two logins have the same code_verifier")?;
    }
    ada.sign_in().await?;
    let asked = ada.browser.asked.iter();
    challenges.extend(asked.filter_map(|url| parameter(url, "code_challenge").ok()));
    let haystacks = search::haystacks_of(&ada.browser, |page| trial.testbed.is_app(&page.url));
    let place = search::find_verifier(&haystacks, &challenges);
    absent("the code_verifier is", place)
}

/// The challenges of verifiers that a careless app makes of the state.
fn derived_from(state: &str) -> [String; 4] {
    let twice = format!("{state}{state}");
    let reversed: String = state.chars().rev().collect();
    let digest = search::challenge(state);
    [state, &twice, &reversed, &digest].map(search::challenge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_state_passes_and_a_made_up_one_does_not() {
        assert_eq!(require_random(&random::secret()), Ok(()));
        let constant = "A".repeat(STATE_LENGTH);
        let text = URL_SAFE_NO_PAD.encode("user-17-0123456789abcdefghijklmn");
        for weak in [constant.as_str(), text.as_str(), "abc", ""] {
            assert!(require_random(weak).is_err(), "{weak}");
        }
    }
}
