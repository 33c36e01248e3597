//! Learning: the examiner finds the sign-in controls by pressing everything on the start
//! page, each in a fresh browser, and looking which press reached the broker; then it
//! signs in, looks where the person's name shows, and finds the way to sign out.

mod reach;
mod refusals;
mod session_cookies;
mod sign_in;
mod sign_out;
mod signed_in;

use std::time::Duration;

use crate::app::{App, Flow, SignInWay, Step, path_and_query, shown_target};
use crate::control::Project;
use crate::testbed::Testbed;
use crate::time::Stopwatch;
use crate::transcript::Transcript;
use crate::verdict::Stop;

/// The settings of the app that its owner gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    pub(crate) whoami: Option<String>,
    /// The step to each provider, by its name.
    pub(crate) sign_in: Vec<(String, Step)>,
    pub(crate) sign_out: Option<Step>,
}

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
    reach::permitted(testbed, &mut browser).await?;
    let watch = Stopwatch::start();
    let start = reach::start_page(testbed, &mut browser).await?;
    let latency = watch.elapsed();
    let slow = if latency > SLOW {
        let seconds = latency.as_secs_f64();
        format!(", but only after {seconds:.1} s: the examination takes minutes")
    } else {
        String::new()
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
        sign_out: None,
        sign_out_page: path_and_query(&testbed.start),
        session_cookies: Vec::new(),
        has_strict_cookie: false,
        client_secret: Some(project.client_secret),
    };
    signed_in::complete_callbacks(testbed, &mut app).await?;
    let callbacks: Vec<_> = app.ways.iter().map(|way| way.callback.as_str()).collect();
    found(
        "callback",
        format!(
            "the browser comes back to {}",
            unique(&callbacks).join(" and ")
        ),
    );

    if let Err(stop) = signed_in::find_person(testbed, hints, &mut app).await {
        app.has_strict_cookie = signed_in::gets_strict_cookie(testbed, &app).await;
        if !app.has_strict_cookie
            || signed_in::find_person(testbed, hints, &mut app)
                .await
                .is_err()
        {
            return Err(stop);
        }
        found(
            "cookies",
            "no user can sign in with a browser, because the session's cookie is SameSite=Strict; the other checks go on as if it were not".to_owned(),
        );
    }
    let whoami = shown_target(&app.whoami);
    found("whoami", format!("{whoami} shows who is signed in"));

    sign_out::find(testbed, hints, &start, &mut app).await?;
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

/// A way with the call that it made.
pub(crate) struct FoundWay {
    pub(crate) way: SignInWay,
    pub(crate) project: String,
}

fn describe(found: &FoundWay) -> String {
    let FoundWay { way, .. } = found;
    let last = way.steps.last().map_or_else(String::new, Step::describe);
    format!("{last} ({}, {} flow)", way.provider, way.flow.as_str())
}

fn unique<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    names
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

pub(crate) fn cannot_learn(stop: &Stop) -> String {
    format!(
        "a plain sign-in cannot be finished: {}. Sign in by hand once, and mend what stops it",
        stop.actual
    )
}
