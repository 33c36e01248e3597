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
    let mut preflight = Vec::new();
    let mut found = |step, says: String| {
        // A link may carry a token. The id of the project is none.
        let says = if step == "project" {
            says
        } else {
            stack::mask::scrub(&says)
        };
        preflight.push(PreflightStep { step, says });
    };

    let transcript = Transcript::start();
    let mut browser = testbed.browser("browser", &transcript);
    permitted(testbed, &mut browser).await?;
    let watch = Stopwatch::start();
    let start = start_page(testbed, &mut browser).await?;
    let latency = watch.elapsed();
    let seconds = latency.as_secs_f64();
    let slow = match latency > SLOW {
        true => format!(", but only after {seconds:.1} s: the examination takes minutes"),
        false => String::new(),
    };
    let status = start.status;
    found(
        "reachable",
        format!("{} answers with status {status}{slow}", testbed.start),
    );

    let mut ways = sign_in::find(testbed, hints, &start).await?;
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
    found("sign_in", format!("sign-in starts by {}", names.join("; ")));

    let project = project_of(testbed, &ways).await?;
    found(
        "project",
        format!("the app is the project {}", project.client_id),
    );

    testbed.counts_only(&project.client_id);
    let mut app = App {
        ways: ways.into_iter().map(|found| found.way).collect(),
        whoami: path_and_query(&testbed.start),
        sign_out_page: path_and_query(&testbed.start),
        client_secret: Some(project.client_secret),
        ..App::default()
    };
    signed_in::complete_callbacks(testbed, &mut app).await?;
    let callbacks: BTreeSet<_> = app.ways.iter().map(|way| way.callback.as_str()).collect();
    let callbacks = Vec::from_iter(callbacks).join(" and ");
    found("callback", format!("the browser comes back to {callbacks}"));

    if let Err(stop) = signed_in::find_person(testbed, hints, &mut app).await {
        app.has_strict_cookie = signed_in::gets_strict_cookie(testbed, &app).await;
        let is_found = app.has_strict_cookie
            && signed_in::find_person(testbed, hints, &mut app)
                .await
                .is_ok();
        if !is_found {
            return Err(stop);
        }
        found(
            "cookies",
            "no user can sign in with a browser, because the session's cookie is SameSite=Strict; the other checks go on as if it were not".to_owned(),
        );
    }
    let whoami = shown_target(&app.whoami);
    found("whoami", format!("{whoami} shows who is signed in"));

    signed_in::find_sign_out(testbed, hints, &start, &mut app).await?;
    match &app.sign_out {
        Some(step) => found("sign_out", format!("{} signs out", step.describe())),
        None => found(
            "sign_out",
            "no way to sign out was found; if there is one, name it with sign_out".to_owned(),
        ),
    }
    Ok(Learnt {
        app,
        preflight,
        latency,
    })
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
    let permission = testbed
        .at("/.well-known/examine-permission")
        .map_err(|stop| stop.actual)?;
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
