//! Answers that are none of the specification's: of the broker, or of a proxy before it.

mod corpus;

use serde_json::Value;

use super::look::SignedInLook;
use super::trouble::{
    Login, PROFILE, SESSION, TOKEN, answer, calls_of, expect_met, login_before, require_page,
};
use crate::browser::Arrival;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};
use corpus::{Wrong, profile_of, session_answer, token_answer};

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
    let mut login = login_before(trial, operation).await?;
    let right = right_answer(trial, &login, operation).await?;
    let mark = trial.mark().await?;
    if operation == TOKEN {
        // The made-up token opens nothing; the profile that it would open comes by hand.
        arm(
            trial,
            PROFILE,
            &profile_of(trial.way()?.provider, &login.person),
        )
        .await?;
    }
    match wrong {
        Some(wrong) => {
            let more = wrong.apply(&right);
            trial.arm_with(operation, "answer", &more).await?;
        }
        None => arm(trial, operation, &right).await?,
    }
    let arrival = login.go_on(trial).await?;
    trial.world.control.disarm().await?;
    expect_met(trial, mark, operation).await?;
    match wrong {
        None => require_accepted(trial, &mut login, operation, &arrival).await,
        Some(wrong) => {
            let trouble = format!("answered {operation} with {}", wrong.name);
            require_refused(trial, looks, &mut login, &arrival, &trouble).await
        }
    }
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
    trouble: &str,
) -> Outcome {
    let Arrival::Page(page) = arrival else {
        return Err(Stop::fail(format!(
            "{trouble}, the app sends the browser on all the same"
        )));
    };
    let is_in = trial
        .is_signed_in(&mut login.browser, &login.person)
        .await?
        || looks.is_shown_to(trial, &mut login.browser).await?;
    require(!is_in, || format!("{trouble}, the app signs the user in"))?;
    require_page(trial, page, trouble)
}

/// `authorization-url-checked`: addresses that are not below the broker's origin.
pub(super) async fn authorization_url_checked(trial: &Trial<'_>) -> Outcome {
    let mut other = trial.browser("browser B");
    let right = trial.begin(&mut other).await?.url;
    for (name, url) in corpus::wrong_addresses(&right) {
        let mut login = login_before(trial, SESSION).await?;
        let mark = trial.mark().await?;
        arm(trial, SESSION, &session_answer(&url)).await?;
        let arrival = login.go_on(trial).await?;
        trial.world.control.disarm().await?;
        expect_met(trial, mark, SESSION).await?;
        let trouble = format!("given an authorization_url with {name}");
        match &arrival {
            Arrival::Stopped(_) => {
                return Err(Stop::fail(format!(
                    "{trouble}, the app sends the browser there"
                )));
            }
            Arrival::Page(page) if page.status < 400 && page.headers.contains_key("location") => {
                return Err(Stop::fail(format!(
                    "{trouble}, the app redirects the browser there"
                )));
            }
            Arrival::Page(page) => {
                let leads = page.controls().iter().any(|it| it.target().as_str() == url);
                require(!leads, || {
                    format!("{trouble}, the app shows a link that leads there")
                })?;
                require(!page.json_texts().contains(&url), || {
                    format!("{trouble}, the app gives its script the address to go to")
                })?;
                require_page(trial, page, &trouble)?;
            }
        }
    }
    Ok(())
}
