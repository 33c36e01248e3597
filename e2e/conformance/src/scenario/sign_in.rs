//! A browser's way through a provider, as the user that the control address queued.

use reqwest::Method;

use crate::browser::{Aim, BrowserDriver, End, HttpBrowser, NavigationEnd};
use crate::error::Stop;
use crate::run::Run;
use crate::users::QueuedUser;
use crate::{address, mask};

/// Signs `user` in, by the login that `url` begins. Without a control address the
/// provider's own user signs in.
pub(super) async fn sign_in(
    run: &mut Run<'_>,
    url: &str,
    provider: &str,
    user: &QueuedUser,
) -> Result<NavigationEnd, Stop> {
    queue(run, provider, user).await?;
    run.navigate(url, Aim::SignIn).await
}

/// Declines at the provider, in the login that `url` begins.
pub(super) async fn decline(
    run: &mut Run<'_>,
    url: &str,
    provider: &str,
) -> Result<NavigationEnd, Stop> {
    if let Some(control) = &run.plan.control {
        control.queue_denial(&run.http, provider).await?;
    }
    run.navigate(url, Aim::Decline).await
}

async fn queue(run: &Run<'_>, provider: &str, user: &QueuedUser) -> Result<(), Stop> {
    match &run.plan.control {
        Some(control) => control.queue_user(&run.http, provider, user).await,
        None => Ok(()),
    }
}

/// A sign-in whose user is done at the provider, and whose browser has not opened the
/// broker's upstream callback yet.
pub(super) struct UndeliveredCallback {
    pub(super) browser: HttpBrowser,
    /// The address with the provider's answer.
    pub(super) url: String,
}

/// Signs `user` in with the runner's own HTTP client, up to the upstream callback.
pub(super) async fn up_to_callback(
    run: &mut Run<'_>,
    url: &str,
    provider: &str,
    user: &QueuedUser,
) -> Result<UndeliveredCallback, Stop> {
    // A stack's providers show no page to a user who is queued.
    if run.plan.control.is_none() && !matches!(run.plan.browser, BrowserDriver::Automatic) {
        return Err(Stop::Blocked(
            "needs a browser that can be stopped: --control, or --browser automatic".to_owned(),
        ));
    }
    queue(run, provider, user).await?;
    let plan = run.plan;
    let mut browser = HttpBrowser::default();
    let mut has_left = false;
    let is_end = |url: &str| {
        let is_at_broker = address::is_same_origin(url, &plan.base_url);
        has_left |= !is_at_broker;
        (has_left && is_at_broker) || url.starts_with(&plan.project.callback)
    };
    let end = browser.follow(&mut run.http, url, is_end).await?;
    if end.response.is_none() && address::is_same_origin(&end.url, &plan.base_url) {
        return Ok(UndeliveredCallback {
            browser,
            url: end.url,
        });
    }
    Err(Stop::Blocked(
        "the provider did not redirect the browser back to the broker".to_owned(),
    ))
}

impl UndeliveredCallback {
    /// Opens the upstream callback in its own browser, and follows redirects to the
    /// consumer.
    pub(super) async fn deliver(&mut self, run: &mut Run<'_>) -> Result<End, Stop> {
        deliver(run, &mut self.browser, &self.url).await
    }

    /// Sends HEAD from its own browser.
    pub(super) async fn head(&mut self, run: &mut Run<'_>) -> Result<End, Stop> {
        let response = self.browser.open(&mut run.http, Method::HEAD, &self.url);
        Ok(End {
            response: Some(response.await?),
            url: self.url.clone(),
        })
    }

    /// Opens it in a browser without its cookies.
    pub(super) async fn deliver_elsewhere(&self, run: &mut Run<'_>) -> Result<End, Stop> {
        deliver(run, &mut HttpBrowser::default(), &self.url).await
    }
}

async fn deliver(run: &mut Run<'_>, browser: &mut HttpBrowser, url: &str) -> Result<End, Stop> {
    let callback = &run.plan.project.callback;
    let is_end = |url: &str| url.starts_with(callback);
    browser.follow(&mut run.http, url, is_end).await
}

/// The end of a delivery for a report.
pub(super) fn masked(end: &End) -> String {
    match &end.response {
        Some(response) => response.masked(),
        None => format!("the browser came to {}", mask::url(&end.url)),
    }
}
