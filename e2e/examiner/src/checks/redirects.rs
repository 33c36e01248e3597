//! Redirects: no call of the app follows one, and no parameter sends a browser outside.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::try_join_all;
use reqwest::Method;
use reqwest::header::LOCATION;
use serde_json::json;
use url::Url;

use super::corpora::{CORPORA, fill};
use super::failures::{answer, calls_of, login_before};
use super::secrets::client_secret;
use crate::app::{Flow, Step};
use crate::browser::{Arrival, Browser, Page, Visit, origin};
use crate::foreign_site::{Site, not_found};
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, require};

/// The statuses that lead elsewhere. The last two carry a POST's body on.
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// The host outside.
const OUTSIDE: &str = "evil.example";

/// `redirects-not-followed`: at each call of a login, by each status.
pub(super) async fn redirects_not_followed(trial: &Trial<'_>) -> Outcome {
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = received.clone();
    let elsewhere = Site::start("127.0.0.1", move |request| {
        let mut received = record.lock().unwrap_or_else(PoisonError::into_inner);
        received.push(request.to_owned());
        not_found()
    });
    let elsewhere = elsewhere.await?;
    let location = json!({ "Location": format!("{}elsewhere", elsewhere.origin) });
    for operation in calls_of(trial.flow) {
        for status in STATUSES {
            let mut login = login_before(trial, operation).await?;
            let mark = trial.mark().await?;
            let more = answer(status, &location, "");
            trial.arm_with(operation, "answer", &more).await?;
            let arrival = login.meet_fault(operation, mark).await?;
            let cause = format!("answered {operation} with a redirect ({status})");
            if let Some(request) = first_of(&received) {
                let carries = carried(&request, client_secret(trial));
                return Err(Stop::fail(format!(
                    "{cause}, the app calls the other host{carries}"
                )));
            }
            let Arrival::Page(_) = arrival else {
                return Err(Stop::fail(format!("{cause}, the app sends the browser on")));
            };
            let is_in = login.user.is_signed_in().await?;
            require(!is_in, || format!("{cause}, the app signs the user in"))?;
        }
    }
    Ok(())
}

fn first_of(received: &Mutex<Vec<String>>) -> Option<String> {
    let received = received.lock().unwrap_or_else(PoisonError::into_inner);
    received.first().cloned()
}

/// The secrets in a request, in words.
fn carried(request: &str, client_secret: Option<&str>) -> String {
    let has = |text: &str| request.contains(text);
    let lower = request.to_ascii_lowercase();
    let found = [
        (client_secret.is_some_and(has), "the client secret"),
        (has("session_key"), "the session key"),
        (has("code_verifier"), "the code and its verifier"),
        (lower.contains("authorization: bearer"), "the access token"),
    ];
    let found = found
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name));
    match found.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        found => format!(", and sends it {}", found.join(" and ")),
    }
}

/// `return-to`: whole sign-ins and sign-outs with every name, in every spelling.
pub(super) async fn return_to(trial: &Trial<'_>) -> Outcome {
    trial.user("browser A", "Ada").sign_in().await?;
    let start = &trial.testbed.start;
    let values = [
        ("origin", &*origin(start)),
        ("scheme", start.scheme()),
        ("host", start.host_str().unwrap_or_default()),
    ];
    let addresses = CORPORA.return_to.addresses.iter();
    let starts = addresses.map(|row| with_value(trial, fill(row, &values)));
    try_join_all(starts).await.map(drop)
}

async fn with_value(trial: &Trial<'_>, value: String) -> Outcome {
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
struct Probe<'t> {
    trial: &'t Trial<'t>,
    value: String,
}

impl Probe<'_> {
    /// Signs in with the parameters at `place`, and signs out with them. Returns whether the
    /// user was signed in.
    async fn sign_in_and_out(&self, browser: &str, place: Place) -> Outcome<bool> {
        let mut ada = self.trial.user(browser, "Ada");
        let callback = if matches!(place, Place::Start | Place::StartAndCallback) {
            self.up_to_callback(&mut ada).await?
        } else {
            Some(ada.up_to_callback().await?)
        };
        // What the app refuses leads nowhere.
        let Some(mut callback) = callback else {
            return Ok(false);
        };
        if matches!(place, Place::Callback | Place::StartAndCallback) {
            self.extend(&mut callback.url);
        }
        self.follow(&mut ada.browser, callback).await?;
        let is_in = ada.is_signed_in().await?;
        self.sign_out(&mut ada.browser).await?;
        Ok(is_in)
    }

    /// Begins a login with the parameters at the start page and at the start itself;
    /// `None` if the app refuses it.
    async fn up_to_callback(&self, user: &mut User<'_>) -> Outcome<Option<Visit>> {
        let mut start = self.trial.testbed.start.clone();
        self.extend(&mut start);
        // A link on a page outside, which some apps return to by its `Referer`.
        let outside = Url::parse("https://evil.example/").expect("an address");
        let visit = Visit::typed(&start).by_page_of(&outside);
        let Arrival::Page(mut page) = self.follow(&mut user.browser, visit).await? else {
            return Ok(None);
        };
        for step in &self.trial.way()?.steps {
            let Some(visit) = find_again(step, &page) else {
                return Ok(None);
            };
            let visit = self.with_parameters(visit);
            match self.follow(&mut user.browser, visit).await? {
                Arrival::Page(next) => page = next,
                Arrival::Stopped(visit) => {
                    let page = self.trial.to_provider(&mut user.browser, visit).await?;
                    return user.choose(&page).await.map(Some);
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
        let Ok(visit) = self.trial.sign_out_visit(browser).await else {
            return Ok(());
        };
        let visit = self.with_parameters(visit);
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

    /// The request with the parameters in its address, and in its form.
    fn with_parameters(&self, mut visit: Visit) -> Visit {
        self.extend(&mut visit.url);
        if visit.method == Method::POST {
            let fields = visit.fields.get_or_insert_default();
            fields.extend(
                self.fields()
                    .map(|(name, value)| (name.clone(), value.to_owned())),
            );
        }
        visit
    }

    fn extend(&self, url: &mut Url) {
        url.query_pairs_mut().extend_pairs(self.fields());
    }

    fn fields(&self) -> impl Iterator<Item = (&'static String, &str)> {
        let names = CORPORA.return_to.names.iter();
        names.map(|name| (name, self.value.as_str()))
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
    let mut urls = [target, refreshed, page.refresh()].into_iter().flatten();
    urls.any(|url| {
        let host = url.host_str().unwrap_or_default();
        host.ends_with(OUTSIDE) || url.scheme() == "javascript"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::page;

    #[test]
    fn the_secrets_of_a_followed_call_are_named() {
        let request = "POST / HTTP/1.1\r\nContent-Length: 40\r\n\r\n{\"client_secret\":\"s3\",\"session_key\":\"k\"}";
        assert_eq!(
            carried(request, Some("s3")),
            ", and sends it the client secret and the session key"
        );
        assert_eq!(carried("GET / HTTP/1.1\r\n\r\n", Some("s3")), "");
    }

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
