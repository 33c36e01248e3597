//! The history of a real browser: Back after a sign-in, and the code in addresses.

use super::super::legacy::parameter;
use crate::app::Flow;
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::chromium::Tab;
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// The number of times that Back is pressed at most.
const MAX_PRESSES: usize = 6;

/// `back-button`: from the start page after a sign-in back to the one before it.
pub(in super::super) async fn back_button(trial: &Trial<'_>) -> Outcome {
    let person = Person::new("Ada");
    let mut tab = trial.chromium("Chromium").await?;
    trial.sign_in_in(&mut tab, &person).await?;
    tab.open(&trial.testbed.start).await?;

    let mark = trial.mark().await?;
    let entries = tab.history().await?.len();
    for _ in 1..entries.min(MAX_PRESSES) {
        let before = tab.exchanges().len();
        tab.back().await?;
        let url = tab.address().await?;
        if !trial.testbed.is_app(&url) {
            continue;
        }
        let status = status_of_page(&tab, before);
        require(status.is_none_or(|it| it < 500), || {
            format!(
                "Back leads to {}, which answers with status {}",
                url.path(),
                status.unwrap_or_default()
            )
        })?;
        require(tab.text().await?.len() >= 10, || {
            format!("Back leads to {}, a page without words", url.path())
        })?;
    }
    let calls = trial.calls(mark).await?;
    let again = calls.iter().find(|call| is_of_login(call, trial.flow));
    require(again.is_none(), || {
        let again = again.map_or_else(String::new, Call::describe);
        format!("Back made the app call {again}")
    })?;
    require(trial.is_signed_in_in(&mut tab, &person).await?, || {
        "after Back the user is signed out".to_owned()
    })
}

fn is_of_login(call: &Call, flow: Flow) -> bool {
    call.operation == SESSION || call.operation == flow.one_time_call()
}

/// The status of the page that was loaded last; none if the browser still had it.
fn status_of_page(tab: &Tab, before: usize) -> Option<u16> {
    let loaded = tab.exchanges().iter().skip(before).rev();
    loaded
        .filter(|exchange| exchange.kind == "Document")
        .find_map(|exchange| exchange.status)
}

/// `code-not-kept`: in the page, the history, and the `Referer` of later requests.
pub(in super::super) async fn code_not_kept(trial: &Trial<'_>) -> Outcome {
    let person = Person::new("Ada");
    let callback = trial.callback()?;
    let mut tab = trial.chromium("Chromium").await?;
    trial.try_sign_in_in(&mut tab, &person).await?;
    tab.finish_loading().await?;
    let page = tab.source().await?;
    let landing = tab.address().await?;
    trial.require_signed_in_in(&mut tab, &person).await?;
    tab.open(&trial.testbed.start).await?;

    let visits = tab.exchanges().iter();
    let code = visits
        .filter(|it| it.url.path() == callback.path() && trial.testbed.is_app(&it.url))
        .find_map(|it| parameter(&it.url, "code").ok());
    let code = code.ok_or_else(|| {
        crate::verdict::Stop::not_testable("the callback in Chromium had no code")
    })?;
    require(!page.contains(&code), || {
        format!(
            "the page {} after the callback contains the code",
            landing.path()
        )
    })?;
    let sent = tab.exchanges().iter().find(|exchange| {
        let referer = exchange.referer.as_deref().unwrap_or_default();
        referer.contains(&code)
    });
    require(sent.is_none(), || {
        format!(
            "the Referer of the request for {} contains the code",
            sent.map_or("a page", |it| it.url.path())
        )
    })?;
    let history = tab.history().await?;
    require(!history.iter().any(|url| url.contains(&code)), || {
        format!(
            "the history has the address {} with the code in it",
            callback.path()
        )
    })
}
