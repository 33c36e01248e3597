//! The demands that several checks make of a page, of the app's calls, of a browser's cookies
//! and of its session; and the sign by which they see a session where no name shows.

use std::time::Duration;

use url::Url;

use crate::browser::{Browser, Cookie, Page, Visit};
use crate::calls::{self, Call};
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, require, require_no_server_error};

/// Ends the check as a failure if the page is an error of the server's; `what`, such as "the
/// callback answers with", and its status make the sentence.
pub(super) fn no_server_error(page: &Page, what: &str) -> Outcome {
    let status = page.status;
    require_no_server_error(status, || format!("{what} status {status}"))
}

/// Demands that none of the calls is such; `what` and the call make the sentence of a failure.
pub(super) fn no_call(calls: &[Call], is_such: impl Fn(&Call) -> bool, what: &str) -> Outcome {
    match calls.iter().find(|call| is_such(call)) {
        None => Ok(()),
        Some(call) => Err(Stop::fail(format!("{what} {}", calls::describe(call)))),
    }
}

/// Demands that the app shows the user to their browser; `otherwise` is the failure.
pub(super) async fn signed_in(user: &mut User<'_>, otherwise: &str) -> Outcome {
    require(user.is_signed_in().await?, || otherwise)
}

/// Demands that it does not.
pub(super) async fn signed_out(user: &mut User<'_>, otherwise: &str) -> Outcome {
    require(!user.is_signed_in().await?, || otherwise)
}

/// Demands that a request of the callback is worth nothing in this browser: it signs nobody
/// in, no code is sent and no result read, up to `idle` after the answer. `what` begins the
/// sentence of a failure.
pub(super) async fn worth_nothing(
    user: &mut User<'_>,
    visit: Visit,
    what: &str,
    idle: Duration,
) -> Outcome<Page> {
    let trial = user.trial;
    let mark = trial.mark().await?;
    let page = user.visit(visit).await?;
    let calls = trial.testbed.calls_when_idle(mark, idle).await?;
    signed_out(user, &format!("{what} signs the user in")).await?;
    no_one_time_call(trial, &calls, what)?;
    Ok(page)
}

/// Takes a step, and returns the app's calls meanwhile.
pub(super) async fn calls_during<T>(
    trial: &Trial<'_>,
    step: impl Future<Output = Outcome<T>>,
) -> Outcome<Vec<Call>> {
    let mark = trial.mark().await?;
    step.await?;
    trial.calls(mark).await
}

/// Demands that no code was sent and no result read.
pub(super) fn no_one_time_call(trial: &Trial<'_>, calls: &[Call], what: &str) -> Outcome {
    let is_one_time = |call: &Call| call.operation == trial.flow.one_time_call();
    no_call(calls, is_one_time, &format!("{what} made the app call"))
}

/// Demands that a search found nothing; `what`, such as "the access token is", and the place
/// make the sentence of a failure.
pub(super) fn absent(what: &str, place: Option<String>) -> Outcome {
    place.map_or(Ok(()), |place| {
        Err(Stop::fail(format!("{what} in {place}")))
    })
}

/// Demands a page in words, from which the person can go on; `cause` begins the sentence of a
/// failure.
pub(super) fn page_in_words(trial: &Trial<'_>, page: &Page, cause: &str) -> Outcome {
    let (path, status) = (page.url.path(), page.status);
    require(trial.has_words(page), || {
        format!("{cause}, the user sees a page without words, {path}")
    })?;
    // Another 5xx is a word about the broker; 500 is an exception without a handler.
    require(status != 500 || offers_restart(trial, page), || {
        format!(
            "{cause}, the user sees an error page with status {status} at {path}, without a way to start again"
        )
    })
}

/// Demands a page in words that leads back to a sign-in.
pub(super) fn restart(trial: &Trial<'_>, page: &Page, cause: &str) -> Outcome {
    page_in_words(trial, page, cause)?;
    require(offers_restart(trial, page), || {
        let path = page.url.path();
        format!("{cause}, the page {path} has no link or button to start again")
    })
}

/// Whether the page leads back to a sign-in: by one of its first steps, or by a link to
/// the start page. On the start page itself, any control will do: the user may be
/// signed in.
pub(super) fn offers_restart(trial: &Trial<'_>, page: &Page) -> bool {
    let controls = page.controls();
    let start = trial.testbed.start.path();
    let mut first_steps = trial.app.ways.iter().filter_map(|way| way.steps.first());
    let steps = trial.app.ways.iter().flat_map(|way| &way.steps);
    let sign_in: Vec<_> = steps.filter_map(|step| step.path()).collect();
    let leads_there = |url: &Url| {
        trial.testbed.is_app(url) && (url.path() == start || sign_in.contains(&url.path()))
    };
    first_steps.any(|step| step.on_page(page).is_some())
        || (page.url.path() == start && !controls.is_empty())
        || (controls.is_empty() && trial.leave_to_script(page))
        || controls.iter().any(|it| leads_there(&it.target()))
}

/// The cookies that carry the session, in this browser.
pub(super) fn session_cookies(trial: &Trial<'_>, browser: &Browser) -> Vec<Cookie> {
    let own = browser.jar.of(&trial.testbed.start).into_iter();
    own.filter(|cookie| trial.app.session_cookies.contains(&cookie.name))
        .collect()
}

/// Ends the check as not testable if there is nothing of which it could say anything.
pub(super) fn some_cookies<T>(cookies: Vec<T>) -> Outcome<Vec<T>> {
    if cookies.is_empty() {
        return Err(Stop::not_testable(
            "the app set no cookie by which it knows the browser again",
        ));
    }
    Ok(cookies)
}

/// A parameter of an address.
pub(super) fn parameter(url: &Url, name: &str) -> Outcome<String> {
    let value = agent::url::parameter(url.as_str(), name);
    value.ok_or_else(|| Stop::not_testable(format!("{} has no {name}", url.path())))
}

/// The sign of a session where no name shows: the way to sign out, which a visitor lacks;
/// without one, a page that shows another text than to a visitor.
pub(super) struct SignedInLook {
    is_sign_out_telling: bool,
    visitors_text: String,
}

impl SignedInLook {
    pub(super) async fn learn(trial: &Trial<'_>) -> Outcome<Self> {
        let mut visitor = trial.user("browser B", "Ben");
        let visitors_text = visitor.whoami().await?.text();
        let shows_sign_out = has_sign_out(&mut visitor).await?;
        Ok(Self {
            is_sign_out_telling: shows_sign_out == Some(false),
            visitors_text,
        })
    }

    /// Whether the app shows this user, surely, that they are signed in: by their name, or by
    /// this sign.
    pub(super) async fn is_shown_to(&self, user: &mut User<'_>) -> Outcome<bool> {
        let has_sign = self.is_sign_out_telling && has_sign_out(user).await? == Some(true);
        Ok(has_sign || user.is_signed_in().await?)
    }

    /// As [`is_shown_to`](Self::is_shown_to), with a guess where the app has no such sign.
    pub(super) async fn seems_shown_to(&self, user: &mut User<'_>) -> Outcome<bool> {
        if self.is_sign_out_telling {
            return self.is_shown_to(user).await;
        }
        let page = user.whoami().await?;
        Ok(page.status == 200 && page.text() != self.visitors_text)
    }
}

/// Whether the page has the step that signs out; `None` if no such step is known.
async fn has_sign_out(user: &mut User<'_>) -> Outcome<Option<bool>> {
    let app = user.trial.app;
    let Some(step) = &app.sign_out else {
        return Ok(None);
    };
    let url = user.trial.testbed.at(&app.sign_out_page)?;
    let page = user.open(&url).await?;
    Ok(Some(step.on_page(&page).is_some()))
}
