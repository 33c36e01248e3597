//! Redirects: no call of the app follows one, and no parameter and no header sends a browser
//! outside.

use futures_util::future::try_join_all;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::json;
use url::Url;
use wiremock::Request;

use super::corpora::{CORPORA, fill};
use super::demands::{no_call, parameter, signed_out};
use super::failures::{answer, calls_of, with_fault};
use super::secrets::client_secret;
use crate::app::{Flow, Step};
use crate::browser::{Arrival, Browser, Clickable, Page, Visit, origin};
use crate::calls::Call;
use crate::foreign_site::ForeignSite;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, require};

/// The statuses that lead elsewhere. The last two carry a POST's body on.
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// The host outside.
const OUTSIDE: &str = "evil.example";

/// `redirects-not-followed`: at each call of a login, by each status.
pub(super) async fn redirects_not_followed(trial: &Trial<'_>) -> Outcome {
    let elsewhere = ForeignSite::called("127.0.0.1").await?;
    let location = json!({ "Location": format!("{}elsewhere", elsewhere.origin) });
    for operation in calls_of(trial.flow) {
        for status in STATUSES {
            let redirect = answer(status, &location, "");
            let (mut user, arrival) = with_fault(trial, operation, "answer", &redirect).await?;
            let cause = format!("answered {operation} with a redirect ({status})");
            let received = elsewhere.received().await;
            let followed = received.first().map(|it| carried(it, client_secret(trial)));
            if let Some(carries) = followed {
                let called = format!("{cause}, the app calls the other host{carries}");
                return Err(Stop::fail(called));
            }
            let Arrival::Page(_) = arrival else {
                return Err(Stop::fail(format!("{cause}, the app sends the browser on")));
            };
            let signs_in = format!("{cause}, the app signs the user in");
            signed_out(&mut user, &signs_in).await?;
        }
    }
    Ok(())
}

/// The secrets in a request, in words.
fn carried(request: &Request, client_secret: Option<&str>) -> String {
    let body = String::from_utf8_lossy(&request.body);
    let text = format!("{} {:?} {body}", request.url, request.headers);
    let has = |it: &str| text.contains(it);
    let token = request
        .headers
        .get(AUTHORIZATION)
        .map(HeaderValue::as_bytes);
    let has_token = token.is_some_and(|it| it.to_ascii_lowercase().starts_with(b"bearer"));
    let found = [
        (client_secret.is_some_and(has), "the client secret"),
        (has("session_key"), "the session key"),
        (has("code_verifier"), "the code and its verifier"),
        (has_token, "the access token"),
    ];
    let found = found
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name));
    match Vec::from_iter(found).join(" and ") {
        none if none.is_empty() => none,
        found => format!(", and sends it {found}"),
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
    let starts = addresses.map(|row| async {
        let value = fill(row, &values);
        let shown = value.replace('\t', "<tab>");
        let probe = Probe {
            trial,
            what: format!("{shown} as next, return_to, redirect and the like"),
            header: None,
            value,
        };
        probe.everywhere().await
    });
    try_join_all(starts).await.map(drop)
}

/// `headers-not-trusted`: whole sign-ins and sign-outs with each header by which a proxy names
/// another host. `Host` itself is not among them: no browser sends a foreign one.
pub(super) async fn headers_not_trusted(trial: &Trial<'_>) -> Outcome {
    trial.user("browser A", "Ada").sign_in().await?;
    for (name, value) in &CORPORA.foreign_headers {
        let mark = trial.mark().await?;
        let probe = Probe {
            trial,
            what: format!("the header {name}: {value}"),
            header: Some(name),
            value: value.clone(),
        };
        probe.everywhere().await?;
        let calls = trial.testbed.calls(mark).await?;
        let other = format!("with {}, the app names another callback:", probe.what);
        let rule_of = |call: &Call| call.rule.clone().unwrap_or_default();
        let is_refused = |call: &Call| rule_of(call).starts_with("redirect_uri.");
        no_call(&calls, is_refused, &other)?;
    }
    Ok(())
}

/// A whole sign-in and sign-out with something added to its requests.
struct Probe<'t> {
    trial: &'t Trial<'t>,
    /// The addition in words.
    what: String,
    /// The header that is added; if there is none, every parameter of `corpora.toml` is.
    header: Option<&'static str>,
    value: String,
}

impl Probe<'_> {
    async fn everywhere(&self) -> Outcome {
        // A legacy callback has parameters of its own, and others in it may be refused.
        let in_callback = self.header.is_some() || self.trial.flow == Flow::Clean;
        if !self.sign_in_and_out(true, in_callback).await? {
            // An app that refuses what is added at one place may follow it at another.
            self.sign_in_and_out(true, false).await?;
            self.sign_in_and_out(false, in_callback).await?;
        }
        Ok(())
    }

    /// Signs in with the addition at the start, at the callback, or at both, and signs out with
    /// it. Returns whether the user was signed in.
    async fn sign_in_and_out(&self, at_start: bool, at_callback: bool) -> Outcome<bool> {
        let mut ada = self.trial.user("browser A", "Ada");
        let callback = match at_start {
            true => self.up_to_callback(&mut ada).await?,
            false => Some(ada.up_to_callback().await?),
        };
        // What the app refuses leads nowhere.
        let Some(mut callback) = callback else {
            return Ok(false);
        };
        if at_callback {
            callback = self.add(callback);
        }
        self.follow(&mut ada.browser, callback).await?;
        let is_in = ada.is_signed_in().await?;
        // A user whom the app did not sign in has nothing to sign out of.
        if let Ok(visit) = ada.sign_out_visit().await {
            self.follow(&mut ada.browser, self.add(visit)).await?;
        }
        Ok(is_in)
    }

    /// Begins a login with what is added at the start page and at the start itself; `None` if
    /// the app refuses it.
    async fn up_to_callback(&self, user: &mut User<'_>) -> Outcome<Option<Visit>> {
        // A link on a page outside, which some apps return to by its `Referer`.
        let outside = Url::parse("https://evil.example/").expect("an address");
        let visit = Visit::typed(&self.trial.testbed.start).by_page_of(&outside);
        let Arrival::Page(mut page) = self.follow(&mut user.browser, self.add(visit)).await? else {
            return Ok(None);
        };
        for step in &self.trial.way()?.steps {
            let Some(visit) = find_again(step, &page) else {
                return Ok(None);
            };
            match self.follow(&mut user.browser, self.add(visit)).await? {
                Arrival::Page(next) => page = next,
                Arrival::Stopped(visit) => return user.come_back(visit).await.map(Some),
            }
        }
        Ok(None)
    }

    /// Follows the app's redirects, as long as they stay within the app.
    async fn follow(&self, browser: &mut Browser, visit: Visit) -> Outcome<Arrival> {
        let begin = browser.seen.len();
        let is_foreign = |url: &Url| !self.trial.testbed.is_app(url);
        let mut arrival = browser.visit_until(visit, is_foreign).await;
        let what = &self.what;
        for page in &browser.seen[begin..] {
            let path = page.url.path();
            require(!leads_outside(page), || {
                format!("with {what}, {path} sends the browser outside")
            })?;
            let mut targets = page.resources();
            targets.extend(page.controls().iter().map(Clickable::target));
            let is_linked = self.header.is_some() && targets.iter().any(is_outside);
            require(!is_linked, || {
                format!("with {what}, the page {path} leads to that host")
            })?;
        }
        if let Ok(Arrival::Stopped(visit)) = &mut arrival {
            visit.headers.clear();
            let callback = parameter(&visit.url, "redirect_uri").unwrap_or_default();
            let is_named = Url::parse(&callback).is_ok_and(|it| is_outside(&it));
            require(!is_named, || {
                format!("with {what}, the app names another callback")
            })?;
        }
        arrival
    }

    /// The request with what is added: a header, or parameters in its address and in its form.
    fn add(&self, mut visit: Visit) -> Visit {
        if let Some(header) = self.header {
            return visit.with_header(header, &self.value);
        }
        let names = CORPORA.return_to.names.iter();
        let fields = names.map(|name| (name.clone(), self.value.clone()));
        visit.url.query_pairs_mut().extend_pairs(fields.clone());
        if visit.method == Method::POST {
            visit.fields.get_or_insert_default().extend(fields);
        }
        visit
    }
}

fn is_outside(url: &Url) -> bool {
    url.host_str().is_some_and(|host| host.ends_with(OUTSIDE))
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
    let redirected = Visit::typed(&page.url).redirected(page.status, &page.headers);
    let refresh = page.header("refresh");
    let refreshed = refresh.split_once('=');
    let refreshed = refreshed.and_then(|(_, it)| page.url.join(it).ok());
    let targets = [redirected.map(|it| it.url), refreshed, page.refresh()];
    let mut urls = targets.into_iter().flatten();
    urls.any(|url| is_outside(&url) || url.scheme() == "javascript")
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
