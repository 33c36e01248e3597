//! Answers that are none of the specification's: of the broker, or of a proxy before it.

mod corpus;

use std::time::Duration;

use serde_json::Value;

use super::faulted_login::{Login, answer, calls_of, expect_met, require_page, was_met_by_another};
use super::legacy::parameter;
use super::look::SignedInLook;
use crate::app::Flow;
use crate::browser::{Arrival, Visit};
use crate::calls::operation::{PROFILE, SESSION, TOKEN};
use crate::person::Person;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};
use corpus::{Wrong, profile_of, session_answer, token_answer};

/// The attempts at one answer: an app that reads results in the background may take the
/// fault with the call of another login.
const ATTEMPTS: usize = 3;

/// The time without a call after which such an app is tried again.
const QUIET: Duration = Duration::from_secs(1);

/// `answer-checked`: each call of a login, answered wrongly in many ways.
pub(super) async fn answer_checked(trial: &Trial<'_>) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    for operation in calls_of(trial.flow) {
        // The hand-made answer itself is right: what is refused below is its change.
        try_answer(trial, &looks, operation, None).await?;
        for wrong in corpus::wrong_answers(operation) {
            try_answer(trial, &looks, operation, Some(&wrong)).await?;
        }
    }
    Ok(())
}

/// A login in which `operation` is answered by hand: rightly, or with one thing wrong.
async fn try_answer(
    trial: &Trial<'_>,
    looks: &SignedInLook,
    operation: &'static str,
    wrong: Option<&Wrong>,
) -> Outcome {
    for _ in 0..ATTEMPTS {
        let mut login = login_without_provider(trial, operation).await?;
        let right = right_answer(trial, &login, operation).await?;
        let mark = trial.mark().await?;
        arm_answer(trial, &login, operation, &right, wrong).await?;
        let outcome = try_once(trial, looks, &mut login, operation, wrong, mark).await;
        if !was_met_by_another(trial, operation, mark).await? {
            return outcome;
        }
        trial.testbed.calls_when_idle(mark, QUIET).await?;
    }
    Err(Stop::not_testable(format!(
        "the app calls {operation} for other logins in the background, and these calls take the answers that are tried"
    )))
}

/// Lets the next call of `operation` have this answer, and the other call of the login a right
/// one: the broker knows no made-up code or token.
async fn arm_answer(
    trial: &Trial<'_>,
    login: &Login,
    operation: &'static str,
    right: &Value,
    wrong: Option<&Wrong>,
) -> Outcome {
    match operation {
        TOKEN => {
            let profile = profile_of(trial.way()?.provider, &login.person);
            arm(trial, PROFILE, &profile).await?;
        }
        PROFILE => arm(trial, TOKEN, &token_answer()).await?,
        _ => {}
    }
    match wrong {
        Some(wrong) => {
            let more = wrong.apply(right);
            trial.arm_with(operation, "answer", &more).await?;
        }
        None => arm(trial, operation, right).await?,
    }
    Ok(())
}

/// Makes the app do the call, and compares what it does with the answer.
async fn try_once(
    trial: &Trial<'_>,
    looks: &SignedInLook,
    login: &mut Login,
    operation: &'static str,
    wrong: Option<&Wrong>,
    mark: u64,
) -> Outcome {
    let arrival = login.go_on(trial).await?;
    trial.testbed.control.disarm().await?;
    expect_met(trial, mark, operation).await?;
    match wrong {
        None => require_accepted(trial, login, operation, &arrival).await,
        Some(wrong) => {
            let cause = format!("answered {operation} with {}", wrong.name);
            require_refused(trial, looks, login, &arrival, &cause).await
        }
    }
}

/// A login up to the request that makes the app do `operation`. Every answer comes by hand,
/// so the user signs in nowhere.
async fn login_without_provider(trial: &Trial<'_>, operation: &str) -> Outcome<Login> {
    let mut browser = trial.browser("browser A");
    let next = if operation == SESSION {
        trial.last_press(&mut browser).await?
    } else {
        let begun = trial.begin(&mut browser).await?;
        let mut callback = trial.callback()?;
        if trial.flow == Flow::Legacy {
            let state = parameter(&begun.url, "state")?;
            let pairs = [("code", random::secret()), ("state", state)];
            callback.query_pairs_mut().extend_pairs(pairs);
        }
        let callback = Visit::typed(&callback);
        if trial.app.has_strict_cookie {
            callback
        } else {
            callback.by_page_of(&trial.testbed.addresses.broker)
        }
    };
    Ok(Login {
        browser,
        person: Person::new("Ada"),
        next,
    })
}

async fn arm(trial: &Trial<'_>, operation: &str, body: &Value) -> Outcome {
    let json = serde_json::json!({ "Content-Type": "application/json" });
    let more = answer(200, &json, &body.to_string());
    trial.arm_with(operation, "answer", &more).await
}

/// Answers the next call with the right profile of this login's person, after a change.
pub(super) async fn arm_right(
    trial: &Trial<'_>,
    operation: &str,
    login: &Login,
    change: impl FnOnce(&mut Value),
) -> Outcome {
    let mut right = right_answer(trial, login, operation).await?;
    match right.pointer_mut("/profile") {
        Some(profile) => change(profile),
        None => change(&mut right),
    }
    arm(trial, operation, &right).await
}

async fn right_answer(trial: &Trial<'_>, login: &Login, operation: &str) -> Outcome<Value> {
    let profile = || {
        profile_of(
            trial.way().map_or("google", |way| way.provider),
            &login.person,
        )
    };
    Ok(match operation {
        SESSION => {
            let mut other = trial.browser("browser B");
            session_answer(trial.begin(&mut other).await?.url.as_str())
        }
        TOKEN => token_answer(),
        PROFILE => profile(),
        _ => serde_json::json!({ "status": "succeeded", "profile": profile() }),
    })
}

async fn require_accepted(
    trial: &Trial<'_>,
    login: &mut Login,
    operation: &str,
    arrival: &Arrival,
) -> Outcome {
    let is_accepted = match arrival {
        Arrival::Stopped(_) => operation == SESSION,
        Arrival::Page(_) => {
            operation != SESSION
                && trial
                    .is_signed_in(&mut login.browser, &login.person)
                    .await?
        }
    };
    if is_accepted {
        return Ok(());
    }
    Err(Stop::not_testable(format!(
        "the app refuses a right answer of {operation}"
    )))
}

async fn require_refused(
    trial: &Trial<'_>,
    looks: &SignedInLook,
    login: &mut Login,
    arrival: &Arrival,
    cause: &str,
) -> Outcome {
    let Arrival::Page(page) = arrival else {
        return Err(Stop::fail(format!(
            "{cause}, the app sends the browser on all the same"
        )));
    };
    let is_in = trial
        .is_signed_in(&mut login.browser, &login.person)
        .await?
        || looks.is_shown_to(trial, &mut login.browser).await?;
    require(!is_in, || format!("{cause}, the app signs the user in"))?;
    require_page(trial, page, cause)
}

/// `authorization-url-checked`: addresses that are not below the broker's origin.
pub(super) async fn authorization_url_checked(trial: &Trial<'_>) -> Outcome {
    let mut other = trial.browser("browser B");
    let right = trial.begin(&mut other).await?.url;
    for (name, url) in corpus::wrong_addresses(&right) {
        let mut login = login_without_provider(trial, SESSION).await?;
        let mark = trial.mark().await?;
        arm(trial, SESSION, &session_answer(&url)).await?;
        let arrival = login.go_on(trial).await?;
        trial.testbed.control.disarm().await?;
        expect_met(trial, mark, SESSION).await?;
        let cause = format!("given an authorization_url with {name}");
        match &arrival {
            Arrival::Stopped(_) => {
                return Err(Stop::fail(format!(
                    "{cause}, the app sends the browser there"
                )));
            }
            Arrival::Page(page) if page.status < 400 && page.headers.contains_key("location") => {
                return Err(Stop::fail(format!(
                    "{cause}, the app redirects the browser there"
                )));
            }
            Arrival::Page(page) => {
                let leads = page.controls().iter().any(|it| it.target().as_str() == url);
                require(!leads, || {
                    format!("{cause}, the app shows a link that leads there")
                })?;
                require(!page.json_texts().contains(&url), || {
                    format!("{cause}, the app gives its script the address to go to")
                })?;
                require_page(trial, page, &cause)?;
            }
        }
    }
    Ok(())
}
