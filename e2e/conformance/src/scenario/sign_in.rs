//! A browser's way through a provider, as the user that the control address queued.

use std::cell::Cell;

use agent::browser::{Arrival, Browser, Page, Visit};
use reqwest::Method;
use serde_json::{Value, json};
use url::Url;

use crate::browser::{Aim, BrowserDriver, NavigationEnd, visit_until};
use crate::http::{Http, masked_response};
use crate::mask;
use crate::project::QueuedUser;
use crate::run::Run;
use crate::verdict::Stop;

const NOT_BACK: &str = "the provider did not redirect the browser back to the broker";

/// Signs the default user in, by the login that `url` begins. Without a control address the
/// provider's own user signs in.
pub(super) async fn sign_in(
    run: &mut Run<'_>,
    url: &str,
    provider: &str,
) -> Result<NavigationEnd, Stop> {
    let user = QueuedUser::default_at(provider);
    queue(run, provider, &json!({ "person": user })).await?;
    run.navigate(url, Aim::SignIn).await
}

/// Declines at the provider, in the login that `url` begins.
pub(super) async fn decline(
    run: &mut Run<'_>,
    url: &str,
    provider: &str,
) -> Result<NavigationEnd, Stop> {
    queue(run, provider, &json!({ "misbehave": "deny" })).await?;
    run.navigate(url, Aim::Decline).await
}

/// Queues what happens at the next sign-in at `provider`, where there is a control address.
pub(super) async fn queue(run: &Run<'_>, provider: &str, next: &Value) -> Result<(), Stop> {
    match &run.plan.control {
        Some(control) => Ok(control.queue(provider, next).await?),
        None => Ok(()),
    }
}

/// A sign-in whose user is done at the provider, and whose browser has not opened the
/// broker's upstream callback yet.
pub(super) struct UndeliveredCallback {
    pub(super) browser: Browser<Http>,
    /// The request with the provider's answer.
    pub(super) visit: Visit,
}

/// Signs `user` in with the runner's own HTTP client, up to the upstream callback.
pub(super) async fn up_to_callback(
    run: &mut Run<'_>,
    url: &str,
    provider: &str,
    user: &QueuedUser,
) -> Result<UndeliveredCallback, Stop> {
    check_can_stop(run)?;
    queue(run, provider, &json!({ "person": user })).await?;
    let visit = run.plan.navigation(url).visit()?;
    go_on(run, Browser::new(run.http.clone()), visit).await
}

/// Stops a scenario that no HTTP client can play.
pub(super) fn check_can_stop(run: &Run<'_>) -> Result<(), Stop> {
    // A stack's providers show no page to a user who is queued.
    if run.plan.control.is_none() && !matches!(run.plan.browser, BrowserDriver::Automatic) {
        return Err(Stop::blocked(
            "needs a browser that can be stopped: --control, or --browser automatic",
        ));
    }
    Ok(())
}

/// Lets a browser go on to the upstream callback.
pub(super) async fn go_on(
    run: &Run<'_>,
    mut browser: Browser<Http>,
    visit: Visit,
) -> Result<UndeliveredCallback, Stop> {
    let navigation = run.plan.navigation("");
    let is_at_broker = |url: &Url| agent::url::is_same_origin(url.as_str(), navigation.base_url);
    let has_left = Cell::new(false);
    let is_end = |url: &Url| {
        has_left.set(has_left.get() || !is_at_broker(url));
        (has_left.get() && is_at_broker(url)) || navigation.is_at_consumer(url)
    };
    match visit_until(&mut browser, visit, is_end).await? {
        Arrival::Stopped(visit) if is_at_broker(&visit.url) => {
            Ok(UndeliveredCallback { browser, visit })
        }
        Arrival::Page(page) => {
            Err(Stop::if_busy(page.status, &page.headers)
                .unwrap_or_else(|| Stop::blocked(NOT_BACK)))
        }
        Arrival::Stopped(_) => Err(Stop::blocked(NOT_BACK)),
    }
}

impl UndeliveredCallback {
    /// The upstream callback for a report.
    pub(super) fn masked_url(&self) -> String {
        mask::url(self.visit.address())
    }

    /// Opens the upstream callback in its own browser, and follows redirects to the
    /// consumer.
    pub(super) async fn deliver(&mut self, run: &Run<'_>) -> Result<Arrival, Stop> {
        deliver(run, &mut self.browser, &self.visit).await
    }

    /// Follows redirects to the consumer from a response to the upstream callback.
    pub(super) async fn arrive(&mut self, run: &Run<'_>, page: Page) -> Result<Arrival, Stop> {
        self.browser.jar.receive(&page.headers, &page.url);
        match self.visit.redirected(page.status, &page.headers) {
            None => Ok(Arrival::Page(page)),
            Some(next) => deliver(run, &mut self.browser, &next).await,
        }
    }

    /// Opens it in a browser without its cookies.
    pub(super) async fn deliver_elsewhere(&self, run: &Run<'_>) -> Result<Arrival, Stop> {
        deliver(run, &mut Browser::new(run.http.clone()), &self.visit).await
    }

    /// Sends HEAD from its own browser.
    pub(super) async fn head(&mut self) -> Result<Arrival, Stop> {
        let visit = self.visit.clone().with_method(Method::HEAD);
        self.browser.send(&visit).await.map(Arrival::Page)
    }
}

async fn deliver(
    run: &Run<'_>,
    browser: &mut Browser<Http>,
    visit: &Visit,
) -> Result<Arrival, Stop> {
    let consumer = run.plan.navigation("");
    let is_end = |url: &Url| consumer.is_at_consumer(url);
    visit_until(browser, visit.clone(), is_end).await
}

/// The end of a delivery for a report.
pub(super) fn masked(end: &Arrival) -> String {
    match end {
        Arrival::Page(page) => masked_response(page),
        Arrival::Stopped(visit) => format!("the browser came to {}", mask::url(visit.address())),
    }
}
