//! The state of the legacy flow: random, bound to its browser, used once; and the access
//! token at its end.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use super::cookie::session_cookies;
use super::legacy::parameter;
use crate::browser::{Browser, Page, Visit};
use crate::calls::Call;
use crate::calls::operation::TOKEN;
use crate::person::Person;
use crate::random;
use crate::search;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The length of 32 bytes in base64url.
const STATE_LENGTH: usize = 43;

/// The length that two random states never share.
const MAX_SHARED: usize = 12;

/// The different values that 32 random bytes have at least; 30 are usual.
const MIN_DIFFERENT_BYTES: usize = 16;

/// `state-present`: of several logins, in one browser and in others.
pub(super) async fn state_present(trial: &Trial<'_>) -> Outcome {
    let mut one = trial.browser("browser A");
    trial.sign_in(&mut one, &Person::new("Ada")).await?;
    let mut states: Vec<String> = Vec::new();
    for round in 0..6 {
        let mut other = trial.browser("browser B");
        let browser = if round % 2 == 0 { &mut one } else { &mut other };
        browser.open(&trial.testbed.start).await?;
        let mut before = cookie_values(trial, browser);
        let visit = match trial.begin_signed_in(browser, None).await? {
            Some(visit) => visit,
            // A visitor's browser, then, in which the logins to come are begun as well.
            None => {
                *browser = trial.browser("browser A");
                browser.open(&trial.testbed.start).await?;
                before = cookie_values(trial, browser);
                trial.begin(browser).await?
            }
        };
        let state = parameter(&visit.url, "state").ok();
        let state = state.filter(|it| !it.is_empty());
        let state = state.ok_or_else(|| Stop::fail("the authorization URL has no state"))?;
        require_random(&state)?;
        require_unlike(&state, &states)?;
        let mut known = before;
        known.extend(cookie_values(trial, browser));
        require(!known.contains(&state), || {
            "the state is the session's id, which the browser holds".to_owned()
        })?;
        let derived = known.iter().any(|value| search::challenge(value) == state);
        require(!derived, || {
            "the state is made of the session's id, which the browser holds".to_owned()
        })?;
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
    require(state.len() == STATE_LENGTH && !bytes.is_empty(), || {
        format!(
            "the state has {} characters, and not 43 of base64url",
            state.len()
        )
    })?;
    let different: HashSet<_> = bytes.iter().collect();
    require(different.len() >= MIN_DIFFERENT_BYTES, || {
        "the state is not random: its bytes repeat".to_owned()
    })?;
    require(!bytes.iter().all(u8::is_ascii_graphic), || {
        "the state is not random: it is a text in base64url".to_owned()
    })
}

fn require_unlike(state: &str, others: &[String]) -> Outcome {
    for other in others {
        require(state != other, || {
            "two logins have the same state".to_owned()
        })?;
        let pairs = || state.bytes().zip(other.bytes());
        let shared = pairs().take_while(|(a, b)| a == b).count();
        let shared = shared.max(pairs().rev().take_while(|(a, b)| a == b).count());
        require(shared < MAX_SHARED, || {
            format!("the states of two logins share {shared} characters: they can be guessed")
        })?;
    }
    Ok(())
}

/// `state-bound`: the whole callback of another browser's login.
pub(super) async fn state_bound(trial: &Trial<'_>) -> Outcome {
    let attacker = Person::new("Mallory");
    let mut theirs = trial.browser("the attacker's browser");
    let callback = trial.up_to_callback(&mut theirs, &attacker).await?;
    let mut victims = trial.browser("the victim's browser");
    // With a login of its own under way, so that it is no unknown browser.
    trial.begin(&mut victims).await?;

    let mark = trial.mark().await?;
    let page = victims.visit(Visit::typed(&callback.url)).await?;
    let what = "a callback with the state and the code of another browser's login";
    require(!trial.is_signed_in(&mut victims, &attacker).await?, || {
        format!("{what} signs the user in, to the attacker's account")
    })?;
    require_no_token_call(trial, mark, what).await?;
    require_words(trial, &page, what)
}

/// `state-once`: after a success, after an error, after a code that the broker refused.
pub(super) async fn state_once(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    let callback = trial.up_to_callback(&mut browser, &person).await?;
    browser.visit(callback.clone()).await?;
    if !trial.is_signed_in(&mut browser, &person).await? {
        return Err(Stop::not_testable("a plain sign-in did not work"));
    }
    let fresh = code_of_another_login(trial).await?;
    let again = with_parameter(&callback.url, "code", &fresh);
    let mark = trial.mark().await?;
    browser.visit(Visit::typed(&again)).await?;
    let what = "after a successful callback, another one with the same state";
    require_no_token_call(trial, mark, what).await?;

    let failed = [
        ("an error", "error", "access_denied".to_owned()),
        ("a code that the broker refuses", "code", random::secret()),
    ];
    for (name, parameter, value) in failed {
        let mut browser = trial.browser("browser A");
        let person = Person::new("Ada");
        let callback = trial.up_to_callback(&mut browser, &person).await?;
        let first = with_parameter(&callback.url, parameter, &value);
        browser
            .visit(Visit {
                url: first,
                ..callback.clone()
            })
            .await?;
        let mark = trial.mark().await?;
        browser.visit(callback).await?;
        let what = format!("after a callback with {name}, another one with the same state");
        require(!trial.is_signed_in(&mut browser, &person).await?, || {
            format!("{what} signs in")
        })?;
        require_no_token_call(trial, mark, &what).await?;
    }
    Ok(())
}

async fn code_of_another_login(trial: &Trial<'_>) -> Outcome<String> {
    let mut browser = trial.browser("browser B");
    let person = Person::new("Ben");
    let callback = trial.up_to_callback(&mut browser, &person).await?;
    parameter(&callback.url, "code")
}

/// The callback with this parameter, and neither a code nor an error beside it.
fn with_parameter(callback: &Url, name: &str, value: &str) -> Url {
    let kept: Vec<_> = callback
        .query_pairs()
        .filter(|(its, _)| its != "code" && its != "error")
        .map(|(its, value)| (its.into_owned(), value.into_owned()))
        .collect();
    let mut url = callback.clone();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(kept)
        .append_pair(name, value);
    url
}

async fn require_no_token_call(trial: &Trial<'_>, mark: u64, what: &str) -> Outcome {
    let calls = trial.calls(mark).await?;
    let sent = calls.iter().find(|call| call.operation == TOKEN);
    require(sent.is_none(), || {
        let sent = sent.map_or_else(String::new, Call::describe);
        format!("{what} made the app send the code: {sent}")
    })
}

fn require_words(trial: &Trial<'_>, page: &Page, what: &str) -> Outcome {
    require(page.status < 500 && trial.has_words(page), || {
        format!(
            "{what} ends at {} with status {} and without a page in words",
            page.url.path(),
            page.status
        )
    })
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

    #[test]
    fn a_changed_callback_has_one_code_and_the_same_state() {
        let callback = Url::parse("http://localhost/cb?code=a&state=s").unwrap();
        let changed = with_parameter(&callback, "error", "access_denied");
        assert_eq!(changed.query(), Some("state=s&error=access_denied"));
    }
}
