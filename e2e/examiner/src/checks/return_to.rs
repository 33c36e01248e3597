//! Parameters that name a page to return to: none leads outside.

use futures_util::future::try_join_all;
use reqwest::Method;
use reqwest::header::LOCATION;
use url::Url;

use crate::app::{Flow, Step};
use crate::browser::{Arrival, Browser, Page, Visit, origin};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// The host outside.
const OUTSIDE: &str = "evil.example";

/// The names of such parameters. `redirect_uri` is not among those of a callback, since
/// the flows have it elsewhere; an app may take it at its own start.
const NAMES: [&str; 18] = [
    "next",
    "return_to",
    "returnTo",
    "return_url",
    "returnUrl",
    "redirect",
    "redirect_to",
    "redirect_uri",
    "redirectUrl",
    "url",
    "continue",
    "target",
    "dest",
    "goto",
    "ReturnUrl",
    "rd",
    "service",
    "from",
];

/// `return-to`: whole sign-ins and sign-outs with every name, in every spelling.
pub(super) async fn return_to(trial: &Trial<'_>) -> Outcome {
    trial
        .sign_in(&mut trial.browser("browser A"), &Person::new("Ada"))
        .await?;
    let corpus = corpus(&trial.testbed.start);
    let starts = corpus.iter().map(|value| with_value(trial, value));
    try_join_all(starts).await.map(drop)
}

/// Addresses outside, as they are written for apps that look at their beginning.
fn corpus(start: &Url) -> Vec<String> {
    let fixed = [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "\\\\evil.example/",
        "/\t/evil.example/",
        "/%09/evil.example/",
        "/%5cevil.example/",
        "/%2fevil.example/",
        "/./\\evil.example/",
        "https:evil.example/",
        "javascript:location='//evil.example'",
    ];
    let mut all: Vec<_> = fixed.into_iter().map(str::to_owned).collect();
    all.push(format!("{}@{OUTSIDE}/", origin(start)));
    // A host of which the app's own is the beginning.
    let (scheme, host) = (start.scheme(), start.host_str().unwrap_or_default());
    all.push(format!("{scheme}://{host}.{OUTSIDE}/"));
    all
}

async fn with_value(trial: &Trial<'_>, value: &str) -> Outcome {
    let probe = Probe { trial, value };
    // A legacy callback has parameters of its own, and others in it may be refused.
    let first = match trial.flow {
        Flow::Clean => Place::StartAndCallback,
        Flow::Legacy => Place::Start,
    };
    if probe.sign_in_and_out("browser A", first).await? {
        return Ok(());
    }
    // An app that refuses the parameters at one place may follow them at another.
    let others: &[Place] = match trial.flow {
        Flow::Clean => &[Place::Start, Place::Callback],
        Flow::Legacy => &[Place::SignOut],
    };
    for place in others {
        probe.sign_in_and_out("browser B", *place).await?;
    }
    Ok(())
}

/// The requests that have the parameters; sign-out always has them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Callback,
    StartAndCallback,
    SignOut,
}

/// One value, which every parameter gets.
struct Probe<'t, 'w> {
    trial: &'t Trial<'w>,
    value: &'t str,
}

impl Probe<'_, '_> {
    /// Signs in with the parameters at `place`, and signs out with them. Returns whether the
    /// user was signed in.
    async fn sign_in_and_out(&self, browser: &str, place: Place) -> Outcome<bool> {
        let person = Person::new("Ada");
        let mut browser = self.trial.browser(browser);
        let callback = if matches!(place, Place::Start | Place::StartAndCallback) {
            self.up_to_callback(&mut browser, &person).await?
        } else {
            Some(self.trial.up_to_callback(&mut browser, &person).await?)
        };
        // What the app refuses leads nowhere.
        let Some(mut callback) = callback else {
            return Ok(false);
        };
        if matches!(place, Place::Callback | Place::StartAndCallback) {
            self.extend(&mut callback.url);
        }
        self.follow(&mut browser, callback).await?;
        let is_in = self.trial.is_signed_in(&mut browser, &person).await?;
        self.sign_out(&mut browser).await?;
        Ok(is_in)
    }

    /// Begins a login with the parameters at the start page and at the start itself;
    /// `None` if the app refuses it.
    async fn up_to_callback(
        &self,
        browser: &mut Browser,
        person: &Person,
    ) -> Outcome<Option<Visit>> {
        let mut start = self.trial.testbed.start.clone();
        self.extend(&mut start);
        // A link on a page outside, which some apps return to by its `Referer`.
        let visit = Visit::typed(&start).by_page_of("https://evil.example/");
        let Arrival::Page(mut page) = self.follow(browser, visit).await? else {
            return Ok(None);
        };
        for step in &self.trial.way()?.steps {
            let Some(mut visit) = find_again(step, &page) else {
                return Ok(None);
            };
            self.extend(&mut visit.url);
            if visit.method == Method::POST {
                visit.fields.get_or_insert_default().extend(self.fields());
            }
            match self.follow(browser, visit).await? {
                Arrival::Page(next) => page = next,
                Arrival::Stopped(visit) => {
                    let page = self.trial.to_provider(browser, visit).await?;
                    return self.trial.choose(browser, &page, person).await.map(Some);
                }
            }
        }
        Ok(None)
    }

    async fn sign_out(&self, browser: &mut Browser) -> Outcome {
        if self.trial.app.sign_out.is_none() {
            return Ok(());
        }
        // A user whom the app did not sign in has nothing to sign out of.
        let Ok(mut visit) = self.trial.sign_out_visit(browser).await else {
            return Ok(());
        };
        self.extend(&mut visit.url);
        if visit.method == Method::POST {
            visit.fields.get_or_insert_default().extend(self.fields());
        }
        self.follow(browser, visit).await.map(drop)
    }

    /// Follows the app's redirects, as long as they stay within the app.
    async fn follow(&self, browser: &mut Browser, visit: Visit) -> Outcome<Arrival> {
        let begin = browser.seen.len();
        let is_foreign = |url: &Url| !self.trial.testbed.is_app(url);
        let arrival = browser.visit_until(visit, is_foreign).await;
        for page in &browser.seen[begin..] {
            require(!leads_outside(page), || {
                format!(
                    "with {} as next, return_to, redirect and the like, {} sends the browser outside",
                    self.value.replace('\t', "<tab>"),
                    page.url.path()
                )
            })?;
        }
        arrival
    }

    fn fields(&self) -> impl Iterator<Item = (String, String)> {
        let value = self.value;
        NAMES
            .iter()
            .map(move |name| ((*name).to_owned(), value.to_owned()))
    }

    fn extend(&self, url: &mut Url) {
        let fields = self.fields();
        url.query_pairs_mut().extend_pairs(fields);
    }
}

/// The step on a page whose addresses may have a query of the parameters.
fn find_again(step: &Step, page: &Page) -> Option<Visit> {
    step.on_page(page).or_else(|| {
        let path = step.path()?.split('?').next()?;
        let controls = page.controls();
        let control = controls.iter().find(|it| it.target().path() == path)?;
        Some(Visit::press(page, control))
    })
}

/// Whether the answer sends a browser, which resolves addresses in its own way, outside.
fn leads_outside(page: &Page) -> bool {
    let location = page.headers.get(LOCATION);
    let location = location.and_then(|it| it.to_str().ok());
    let is_redirect = (300..400).contains(&page.status);
    let target = location
        .filter(|_| is_redirect)
        .and_then(|it| page.url.join(it).ok());
    let refresh = page.header("refresh");
    let refresh = refresh.split_once('=');
    let refreshed = refresh.and_then(|(_, it)| page.url.join(it).ok());
    [target, refreshed, page.refresh()]
        .into_iter()
        .flatten()
        .any(|url| {
            let host = url.host_str().unwrap_or_default();
            host.ends_with(OUTSIDE) || url.scheme() == "javascript"
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::page;

    #[test]
    fn spellings_that_browsers_take_for_another_host_lead_outside() {
        for (location, is_outside) in [
            ("//evil.example/", true),
            ("http://localhost.evil.example/", true),
            ("/\\evil.example/", true),
            ("/\t/evil.example/", true),
            ("https:evil.example/", true),
            ("javascript:alert(1)", true),
            ("http://localhost:5000@evil.example/", true),
            ("/", false),
            ("/%09/evil.example", false),
            ("/%5cevil.example", false),
            ("/?next=//evil.example", false),
        ] {
            let redirect = page(303, ("location", location), "");
            assert_eq!(leads_outside(&redirect), is_outside, "{location}");
        }
    }
}
