//! The legacy flow: state and PKCE.

use std::collections::{HashMap, HashSet};

use url::Url;

use crate::browser::Visit;
use crate::calls::Call;
use crate::calls::operation::TOKEN;
use crate::person::Person;
use crate::random;
use crate::search;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `state-checked`: callbacks with a valid code and a state that is absent or not the
/// transaction's.
pub(super) async fn state_checked(trial: &Trial<'_>) -> Outcome {
    type Change = fn(&str, &str) -> String;
    let changes: [(&str, Change); 8] = [
        ("without state", |code, _| format!("code={code}")),
        ("with an empty state", |code, _| {
            format!("code={code}&state=")
        }),
        ("with another state", |code, _| {
            format!("code={code}&state={}", random::secret())
        }),
        ("with the state in other case", |code, state| {
            format!("code={code}&state={}", swap_case(state))
        }),
        (
            "with a state whose second half is another",
            |code, state| {
                let half = first_half(state);
                let missing = state.chars().count() - half.chars().count();
                let other: String = random::secret().chars().take(missing).collect();
                format!("code={code}&state={half}{other}")
            },
        ),
        ("with half a state", |code, state| {
            format!("code={code}&state={}", first_half(state))
        }),
        ("with more after the state", |code, state| {
            format!("code={code}&state={state}x")
        }),
        ("with two states", |code, state| {
            format!("code={code}&state={}&state={state}", random::secret())
        }),
    ];
    for (change, query) in changes {
        let person = Person::new("Ada");
        let mut browser = trial.browser("browser A");
        let callback = trial.up_to_callback(&mut browser, &person).await?;
        let (code, state) = (
            parameter(&callback.url, "code")?,
            parameter(&callback.url, "state")?,
        );
        let mut changed = callback.url.clone();
        changed.set_query(Some(&query(&code, &state)));
        let mark = trial.mark().await?;
        browser
            .visit(Visit {
                url: changed,
                ..callback
            })
            .await?;
        let calls = trial.calls(mark).await?;
        let is_in = trial.is_signed_in(&mut browser, &person).await?;
        require(!is_in, || format!("a callback {change} signs in"))?;
        let sent = calls.iter().find(|call| call.operation == TOKEN);
        require(sent.is_none(), || {
            format!(
                "a callback {change} made the app send the code: {}",
                sent.map_or_else(String::new, Call::describe)
            )
        })?;
    }
    Ok(())
}

/// `pkce`: the method, fresh challenges, no verifier in the browser, none made of the state.
pub(super) async fn pkce(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let mut challenges = HashSet::new();
    for _ in 0..3 {
        let visit = trial.begin(&mut browser).await?;
        let query: HashMap<_, _> = visit.url.query_pairs().into_owned().collect();
        let challenge = query.get("code_challenge").cloned().unwrap_or_default();
        let state = query.get("state").cloned().unwrap_or_default();
        require(!challenge.is_empty(), || {
            "the authorization URL has no code_challenge".to_owned()
        })?;
        let method = query
            .get("code_challenge_method")
            .map_or("none", String::as_str);
        require(method == "S256", || {
            format!("the code_challenge_method is {method}")
        })?;
        require(challenge != state, || {
            "the code_challenge is the state".to_owned()
        })?;
        require(!derived_from(&state).contains(&challenge), || {
            "the code_verifier is made of the state, which every log of addresses has".to_owned()
        })?;
        require(challenges.insert(challenge), || {
            "two logins have the same code_verifier".to_owned()
        })?;
    }
    trial.sign_in(&mut browser, &Person::new("Ada")).await?;
    let last = browser
        .asked
        .iter()
        .filter_map(|url| parameter(url, "code_challenge").ok());
    challenges.extend(last);
    let haystacks = search::haystacks_of(&browser, |page| trial.testbed.is_app(&page.url));
    match search::find_verifier(&haystacks, &challenges) {
        None => Ok(()),
        Some(place) => require(false, || format!("the code_verifier is in {place}")),
    }
}

/// `token-not-in-browser`: searched in everything that the browser saw of a whole login.
pub(super) async fn token_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    trial.sign_in(&mut browser, &Person::new("Ada")).await?;
    super::key::open_everything(trial, &mut browser).await?;
    let haystacks = search::haystacks_of(&browser, |_| true);
    match search::find_token(&haystacks) {
        None => Ok(()),
        Some(place) => require(false, || format!("the access token is in {place}")),
    }
}

/// The challenges of verifiers that a careless app makes of the state.
fn derived_from(state: &str) -> HashSet<String> {
    let twice = format!("{state}{state}");
    let reversed: String = state.chars().rev().collect();
    let digest = search::challenge(state);
    [state, &twice, &reversed, &digest]
        .into_iter()
        .map(search::challenge)
        .collect()
}

/// A parameter of an address.
pub(super) fn parameter(url: &Url, name: &str) -> Outcome<String> {
    let mut pairs = url.query_pairs();
    let value = pairs
        .find(|(its, _)| its == name)
        .map(|(_, value)| value.into_owned());
    value.ok_or_else(|| Stop::not_testable(format!("{} has no {name}", url.path())))
}

fn first_half(text: &str) -> String {
    text.chars().take(text.chars().count() / 2).collect()
}

fn swap_case(text: &str) -> String {
    let swap = |c: char| {
        if c.is_ascii_lowercase() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        }
    };
    text.chars().map(swap).collect()
}
