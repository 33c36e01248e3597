//! Learning: the examiner finds the sign-in controls by pressing everything on the start
//! page, each in a fresh browser, and looking which press reached the broker; then it
//! signs in, looks where the person's name shows, and finds the way to sign out.

mod reach;
mod refusals;
mod session_cookies;
mod sign_in;
mod sign_out;

use std::time::Duration;

use url::Url;

use crate::app::{App, Flow, Step, Way, path_and_query, shown_target};
use crate::browser::{Browser, Control, Page, SameSite};
use crate::control::Project;
use crate::person::Person;
use crate::tape::Tape;
use crate::time::Stopwatch;
use crate::trial::Trial;
use crate::verdict::Stop;
use crate::world::World;

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

/// Learns the app of `world`.
///
/// # Errors
///
/// If it cannot be examined: one sentence with the way out.
pub(crate) async fn learn(
    world: &World,
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

    let tape = Tape::start();
    let mut browser = world.browser("browser", &tape);
    reach::permitted(world, &mut browser).await?;
    let watch = Stopwatch::start();
    let start = reach::start_page(world, &mut browser).await?;
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
        format!("{} answers with status {status}{slow}", world.start),
    );

    let mut ways = sign_in::find(world, hints, &start).await?;
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

    let project = project_of(world, &ways).await?;
    found(
        "project",
        format!("the app is the project {}", project.client_id),
    );

    world.counts_only(&project.client_id);
    let mut app = App {
        ways: ways.into_iter().map(|found| found.way).collect(),
        whoami: path_and_query(&world.start),
        sign_out: None,
        sign_out_page: path_and_query(&world.start),
        session_cookies: Vec::new(),
        has_strict_cookie: false,
        client_secret: Some(project.client_secret),
    };
    complete_callbacks(world, &mut app).await?;
    let callbacks: Vec<_> = app.ways.iter().map(|way| way.callback.as_str()).collect();
    found(
        "callback",
        format!(
            "the browser comes back to {}",
            unique(&callbacks).join(" and ")
        ),
    );

    if let Err(stop) = find_person(world, hints, &mut app).await {
        app.has_strict_cookie = gets_strict_cookie(world, &app).await;
        if !app.has_strict_cookie || find_person(world, hints, &mut app).await.is_err() {
            return Err(stop);
        }
        found(
            "cookies",
            "no user can sign in with a browser, because the session's cookie is SameSite=Strict; the other checks go on as if it were not".to_owned(),
        );
    }
    let whoami = shown_target(&app.whoami);
    found("whoami", format!("{whoami} shows who is signed in"));

    sign_out::find(world, hints, &start, &mut app).await?;
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
    pub(crate) way: Way,
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
async fn project_of(world: &World, ways: &[FoundWay]) -> Result<Project, String> {
    if let Some(project) = &world.project {
        return Ok(project.clone());
    }
    let id = ways.first().map_or("", |found| found.project.as_str());
    let projects = world.control.projects().await?;
    let project = projects.into_iter().find(|project| project.client_id == id);
    project.ok_or_else(|| {
        format!(
            "the stack has no project {id}, by which the app signs in: give the app the client_id and client_secret of one of GET {}/api/projects",
            world.control.url()
        )
    })
}

/// Signs in by each way once, to learn the callback.
async fn complete_callbacks(world: &World, app: &mut App) -> Result<(), String> {
    let mut ways = app.ways.clone();
    for way in &mut ways {
        let trial = Trial::new(world, app, way.flow);
        let mut browser = trial.browser("browser");
        let person = Person::new("Nora");
        let arrived = async {
            let visit = trial.begin_by(&mut browser, way).await?;
            let page = trial.to_provider(&mut browser, visit).await?;
            trial.choose(&mut browser, &page, &person).await
        };
        let callback = arrived.await.map_err(|stop| cannot_learn(&stop))?;
        way.callback = callback.url.path().to_owned();
    }
    app.ways = ways;
    Ok(())
}

/// Finds a page that shows who is signed in, and the session's cookies.
async fn find_person(world: &World, hints: &Hints, app: &mut App) -> Result<(), String> {
    let flow = app.ways[0].flow;
    let trial = Trial::new(world, app, flow);
    let mut browser = trial.browser("browser");
    let person = Person::new("Nora");
    let landing = trial
        .try_sign_in(&mut browser, &person)
        .await
        .map_err(|stop| cannot_learn(&stop))?;
    let whoami = match &hints.whoami {
        Some(path) => {
            let url = world.at(path).map_err(|stop| stop.actual)?;
            let page = browser
                .open(&url)
                .await
                .map_err(|stop| cannot_learn(&stop))?;
            (page.status == 200 && person.is_shown_in(&page.body)).then(|| path.clone())
        }
        None => shown_on(world, app, &mut browser, &person, &landing).await,
    };
    let Some(whoami) = whoami else {
        return Err(not_shown(hints, &landing));
    };
    app.whoami = whoami;
    let cookies = session_cookies::find(world, app, &browser, &person).await;
    app.session_cookies = cookies.map_err(|stop| cannot_learn(&stop))?;
    Ok(())
}

/// Whether a cookie that the app sets at the start of a login is SameSite=Strict.
async fn gets_strict_cookie(world: &World, app: &App) -> bool {
    let trial = Trial::new(world, app, app.ways[0].flow);
    let mut browser = trial.browser("browser");
    let begun = trial.begin(&mut browser).await;
    let cookies = browser.jar.of(&world.start);
    let mut policies = cookies.iter().map(|cookie| cookie.same_site);
    begun.is_ok() && policies.any(|policy| policy == Some(SameSite::Strict))
}

/// The path of a page that shows `person`: the start page, the one after sign-in, or one
/// that these link to.
async fn shown_on(
    world: &World,
    app: &App,
    browser: &mut Browser,
    person: &Person,
    landing: &Page,
) -> Option<String> {
    let start = browser.open(&world.start).await.ok()?;
    if person.is_shown_in(&start.body) {
        return Some(path_and_query(&world.start));
    }
    // Asked for again, the callback may finish a login instead of showing one.
    let mut ways = app.ways.iter();
    let is_callback = ways.any(|way| way.callback == landing.url.path());
    if person.is_shown_in(&landing.body) && !is_callback {
        return Some(path_and_query(&landing.url));
    }
    let linked = [&start, landing].into_iter().flat_map(Page::controls);
    let linked: Vec<Url> = linked
        .filter(|control| matches!(control, Control::Link(_)))
        .map(|control| control.target())
        .filter(|url| world.is_app(url) && !sign_out::sounds_like(url.path()))
        .collect();
    let known = ["/me", "/api/me", "/profile", "/account", "/dashboard"];
    let known = known.iter().filter_map(|path| world.at(path).ok());
    for url in linked.into_iter().chain(known) {
        if let Ok(page) = browser.open(&url).await
            && page.status == 200
            && person.is_shown_in(&page.body)
        {
            return Some(path_and_query(&url));
        }
    }
    None
}

fn not_shown(hints: &Hints, landing: &Page) -> String {
    match &hints.whoami {
        Some(path) => format!(
            "whoami {path} does not show the name, user name, e-mail or subject of the person who has just signed in: give a page that does"
        ),
        None => format!(
            "a person signed in and came to {} (status {}), but no page shows a name, user name, e-mail or subject: give one that does with --whoami",
            landing.url.path(),
            landing.status
        ),
    }
}

pub(crate) fn cannot_learn(stop: &Stop) -> String {
    format!(
        "a plain sign-in cannot be finished: {}. Sign in by hand once, and mend what stops it",
        stop.actual
    )
}
