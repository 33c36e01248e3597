//! Learning: the examiner finds the sign-in controls by pressing everything on the start
//! page, each in a fresh browser, and looking which press reached the broker; then it
//! signs in, looks where the person's name shows, and finds the way to sign out.

mod refusals;
mod sign_in;
mod signed_in;

use std::collections::BTreeSet;
use std::time::Duration;

use agent::url::path_and_query;
use url::Url;

use crate::app::{App, Flow, Step, shown_target};
use crate::browser::{Browser, Page, Visit, is_loopback, origin};
use crate::control::Project;
use crate::plan::Hints;
use crate::random;
use crate::testbed::Testbed;
use crate::time::Stopwatch;
use crate::transcript::Transcript;
use sign_in::FoundWay;

/// A step of the preflight that succeeded, as the report shows it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct PreflightStep {
    /// The step: `reachable`.
    pub step: &'static str,
    /// The finding, in one sentence.
    pub says: String,
}

/// The app, and what the preflight found.
pub(crate) struct Learnt {
    pub(crate) app: App,
    pub(crate) preflight: Vec<PreflightStep>,
    /// The time that the start page took.
    pub(crate) latency: Duration,
}

/// An answer after this time is slow.
pub(crate) const SLOW: Duration = Duration::from_millis(500);

/// Learns the app of `testbed`.
///
/// # Errors
///
/// If it cannot be examined: one sentence with the way out.
pub(crate) async fn learn(
    testbed: &Testbed,
    hints: &Hints,
    flow: Option<Flow>,
) -> Result<Learnt, String> {
    let mut learning = Learning {
        testbed,
        hints,
        preflight: Vec::new(),
    };
    let (start, latency) = learning.reach_start_page().await?;
    let ways = learning.find_ways(&start, flow).await?;
    let mut app = learning.find_app(ways).await?;
    learning.find_callbacks(&mut app).await?;
    learning.find_person(&mut app).await?;
    learning.find_sign_out(&start, &mut app).await?;
    Ok(Learnt {
        app,
        preflight: learning.preflight,
        latency,
    })
}

/// The steps of the preflight.
struct Learning<'a> {
    testbed: &'a Testbed,
    hints: &'a Hints,
    /// The steps so far.
    preflight: Vec<PreflightStep>,
}

impl Learning<'_> {
    /// Adds a finding. A link in it may carry a token.
    fn found(&mut self, step: &'static str, says: &str) {
        let says = stack::mask::scrub(says);
        self.preflight.push(PreflightStep { step, says });
    }

    /// The start page, and the time that it took.
    async fn reach_start_page(&mut self) -> Result<(Page, Duration), String> {
        let mut browser = self.testbed.browser("browser", &Transcript::start());
        permitted(self.testbed, &mut browser).await?;
        let watch = Stopwatch::start();
        let page = start_page(self.testbed, &mut browser).await?;
        let latency = watch.elapsed();
        let seconds = latency.as_secs_f64();
        let slow = match latency > SLOW {
            true => format!(", but only after {seconds:.1} s: the examination takes minutes"),
            false => String::new(),
        };
        let (start, status) = (&self.testbed.start, page.status);
        self.found(
            "reachable",
            &format!("{start} answers with status {status}{slow}"),
        );
        Ok((page, latency))
    }

    /// The ways to sign in, by this flow if one is given.
    async fn find_ways(
        &mut self,
        start: &Page,
        flow: Option<Flow>,
    ) -> Result<Vec<FoundWay>, String> {
        let mut ways = sign_in::find(self.testbed, self.hints, start).await?;
        if let Some(flow) = flow {
            ways.retain(|found| found.way.flow == flow);
        }
        if ways.is_empty() {
            let name = flow.map_or("", Flow::as_str);
            return Err(format!(
                "the app does not use the {name} flow: leave out --flow"
            ));
        }
        let names: Vec<_> = ways.iter().map(describe).collect();
        self.found(
            "sign_in",
            &format!("sign-in starts by {}", names.join("; ")),
        );
        Ok(ways)
    }

    /// The app as far as its ways and its project tell, before anybody has signed in.
    async fn find_app(&mut self, ways: Vec<FoundWay>) -> Result<App, String> {
        let project = project_of(self.testbed, &ways).await?;
        // The id of a project is no secret, and may look like one.
        self.preflight.push(PreflightStep {
            step: "project",
            says: format!("the app is the project {}", project.client_id),
        });
        self.testbed.counts_only(&project.client_id);
        Ok(App {
            ways: ways.into_iter().map(|found| found.way).collect(),
            whoami: path_and_query(&self.testbed.start),
            sign_out_page: path_and_query(&self.testbed.start),
            client_secret: Some(project.client_secret),
            ..App::default()
        })
    }

    async fn find_callbacks(&mut self, app: &mut App) -> Result<(), String> {
        signed_in::complete_callbacks(self.testbed, app).await?;
        let callbacks: BTreeSet<_> = app.ways.iter().map(|way| way.callback.as_str()).collect();
        let callbacks = Vec::from_iter(callbacks).join(" and ");
        self.found(
            "callback",
            &format!("the browser comes back to {callbacks}"),
        );
        Ok(())
    }

    /// Finds the page that shows who is signed in, if need be as if the session's cookie were
    /// not SameSite=Strict.
    async fn find_person(&mut self, app: &mut App) -> Result<(), String> {
        let (testbed, hints) = (self.testbed, self.hints);
        if let Err(stop) = signed_in::find_person(testbed, hints, app).await {
            app.has_strict_cookie = signed_in::gets_strict_cookie(testbed, app).await;
            let is_found =
                app.has_strict_cookie && signed_in::find_person(testbed, hints, app).await.is_ok();
            if !is_found {
                return Err(stop);
            }
            self.found(
                "cookies",
                "no user can sign in with a browser, because the session's cookie is SameSite=Strict; the other checks go on as if it were not",
            );
        }
        let whoami = shown_target(&app.whoami);
        self.found("whoami", &format!("{whoami} shows who is signed in"));
        Ok(())
    }

    async fn find_sign_out(&mut self, start: &Page, app: &mut App) -> Result<(), String> {
        signed_in::find_sign_out(self.testbed, self.hints, start, app).await?;
        match &app.sign_out {
            Some(step) => self.found("sign_out", &format!("{} signs out", step.describe())),
            None => self.found(
                "sign_out",
                "no way to sign out was found; if there is one, name it with sign_out",
            ),
        }
        Ok(())
    }
}

fn describe(found: &FoundWay) -> String {
    let FoundWay { way, .. } = found;
    let last = way.steps.last().map_or_else(String::new, Step::describe);
    format!("{last} ({}, {} flow)", way.provider, way.flow.as_str())
}

/// The project of the app, with its secret.
async fn project_of(testbed: &Testbed, ways: &[FoundWay]) -> Result<Project, String> {
    if let Some(project) = &testbed.project {
        return Ok(project.clone());
    }
    let id = ways.first().map_or("", |found| found.project.as_str());
    let projects = testbed.control.projects().await?;
    let project = projects.into_iter().find(|project| project.client_id == id);
    project.ok_or_else(|| {
        format!(
            "the stack has no project {id}, by which the app signs in: give the app the client_id and client_secret of one of GET {}/api/projects",
            testbed.control.url()
        )
    })
}

/// Another machine must say that it may be examined.
async fn permitted(testbed: &Testbed, browser: &mut Browser) -> Result<(), String> {
    if is_loopback(&testbed.start) {
        return Ok(());
    }
    let permission = testbed.at("/.well-known/examine-permission")?;
    if permits(browser, &permission).await {
        return Ok(());
    }
    Err(format!(
        "{} does not allow an examination: it has to answer GET {} with status 200 by itself, and an unknown path beside it with another status",
        origin(&testbed.start),
        permission.path()
    ))
}

/// Whether the host allows an examination at this very address. One that answers with 200
/// to everything has not been asked.
async fn permits(browser: &mut Browser, permission: &Url) -> bool {
    let status = async |browser: &mut Browser, url: &Url| {
        let page = browser.send(&Visit::typed(url)).await;
        page.map_or(0, |it| it.status)
    };
    let Ok(unknown) = permission.join(&format!("examine-{}", random::letters())) else {
        return false;
    };
    status(browser, permission).await == 200 && status(browser, &unknown).await != 200
}

/// The start page, if there is an app at all.
async fn start_page(testbed: &Testbed, browser: &mut Browser) -> Result<Page, String> {
    let start = &testbed.start;
    let page = browser.open(start).await.map_err(|stop| {
        format!("no app answers at {start} ({}): start it, or give its command after -- and the examiner starts it", stop.actual)
    })?;
    if page.status >= 400 {
        return Err(format!(
            "{start} answers with status {}: give the page on which a visitor chooses to sign in, and mend the app if this is it",
            page.status
        ));
    }
    if !testbed.is_app(&page.url) {
        return Err(format!(
            "{start} leads to {}: give the app's own address as the start page",
            origin(&page.url)
        ));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::{answering, plain_browser};

    /// Whether a site that answers so permits an examination.
    async fn is_permitted(answer: fn(&str) -> &'static str) -> bool {
        let site = answering(answer).await;
        let permission = site.origin.join("/.well-known/examine-permission").unwrap();
        permits(&mut plain_browser(), &permission).await
    }

    #[tokio::test]
    async fn a_host_permits_an_examination_only_at_that_very_address() {
        let answer = |path: &str| match path {
            "/.well-known/examine-permission" => "200 OK",
            _ => "404 Not Found",
        };
        assert!(is_permitted(answer).await);
        assert!(!is_permitted(|_| "200 OK").await);
        let redirect = |path: &str| match path {
            "/.well-known/examine-permission" => "303 See Other\r\nLocation: /home",
            "/home" => "200 OK",
            _ => "404 Not Found",
        };
        assert!(!is_permitted(redirect).await);
    }
}
