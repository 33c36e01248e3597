//! The callback: it signs in only the browser that began, and only once.

use crate::browser::Visit;
use crate::calls::Call;
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require, require_no_server_error};

/// `binding-required`: the callback of a login that another browser began.
pub(super) async fn binding_required(trial: &Trial<'_>) -> Outcome {
    let victim = Person::new("Vera");
    let mut own = trial.browser("the victim's browser");
    let mut foreign = trial.browser("the attacker's browser");
    let callback = trial.up_to_callback(&mut own, &victim).await?;

    let mark = trial.mark().await?;
    let page = foreign.visit(Visit::typed(&callback.url)).await?;
    let calls = trial.calls(mark).await?;
    if trial.is_signed_in(&mut foreign, &victim).await? {
        return Err(Stop::takeover(format!(
            "a browser without any cookie asked for {} and is signed in as the user who had signed in elsewhere",
            callback.url.path()
        )));
    }
    let asked = calls.iter().find(|call| call.is_fetch());
    require(asked.is_none(), || {
        format!(
            "the callback in a browser without a session made the app call {}",
            asked.map_or_else(String::new, Call::describe)
        )
    })?;
    require_no_server_error(page.status, || {
        format!(
            "the callback in a browser without a session answers with status {}",
            page.status
        )
    })?;
    // The login itself is unharmed.
    own.visit(callback).await?;
    let unharmed = trial.is_signed_in(&mut own, &victim).await?;
    require(unharmed, || {
        "after the callback in another browser, the user's own sign-in fails".to_owned()
    })
}

/// The time after which a login is over.
const LATER_SECONDS: u64 = 601;

/// `callback-replay`: at once, after sign-out, and when its time is over; in the user's
/// browser and in another.
pub(super) async fn callback_replay(trial: &Trial<'_>) -> Outcome {
    let person = Person::new("Ada");
    let mut browser = trial.browser("browser A");
    let callback = trial.up_to_callback(&mut browser, &person).await?;
    browser.visit(callback.clone()).await?;
    if !trial.is_signed_in(&mut browser, &person).await? {
        return Err(Stop::not_testable("a plain sign-in did not work"));
    }

    let mark = trial.mark().await?;
    let mut thief = trial.browser("browser B");
    for visitor in [&mut browser, &mut thief] {
        let page = visitor.visit(Visit::typed(&callback.url)).await?;
        require_no_server_error(page.status, || {
            format!(
                "the callback, asked for again, answers with status {}",
                page.status
            )
        })?;
    }
    require(!trial.is_signed_in(&mut thief, &person).await?, || {
        "the callback, asked for again in another browser, signs it in".to_owned()
    })?;
    if trial.app.sign_out.is_some() {
        trial.sign_out(&mut browser).await?;
        browser.visit(Visit::typed(&callback.url)).await?;
        require(!trial.is_signed_in(&mut browser, &person).await?, || {
            "the callback, asked for again after sign-out, signs in".to_owned()
        })?;
    }
    trial.advance(LATER_SECONDS).await?;
    thief.visit(Visit::typed(&callback.url)).await?;
    require(!trial.is_signed_in(&mut thief, &person).await?, || {
        format!(
            "the callback, asked for again in another browser after {LATER_SECONDS} s, signs it in"
        )
    })?;
    let calls = trial.calls(mark).await?;
    let again = calls
        .iter()
        .find(|call| call.operation == trial.flow.one_time_call());
    require(again.is_none(), || {
        let again = again.map_or_else(String::new, Call::describe);
        format!("the callback, asked for again, made the app repeat its call: {again}")
    })
}
