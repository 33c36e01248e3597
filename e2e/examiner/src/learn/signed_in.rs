//! The findings of a first sign-in: the callbacks, the page that shows who is signed
//! in, the session's cookies, and the way to sign out.

use agent::url::path_and_query;
use url::Url;

use crate::app::{App, Step};
use crate::browser::{Clickable, Cookie, Page, SameSite};
use crate::plan::Hints;
use crate::testbed::Testbed;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop};

/// The number of controls that are tried to sign out; each costs a sign-in.
const MAX_PRESSES: usize = 6;

/// The words of controls that sign out, also in addresses.
const SIGN_OUT: [&str; 8] = [
    "sign out", "signout", "sign-out", "sign_out", "log out", "logout", "log-out", "log_out",
];

/// The words of controls whose press might delete something.
const DESTRUCTIVE: [&str; 3] = ["delete", "remove", "close account"];

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn cannot_learn(stop: Stop) -> String {
    format!(
        "a plain sign-in cannot be finished: {}. Sign in by hand once, and mend what stops it",
        stop.actual
    )
}

/// Signs in by each way once, to learn the callback.
pub(super) async fn complete_callbacks(testbed: &Testbed, app: &mut App) -> Result<(), String> {
    let mut ways = app.ways.clone();
    for way in &mut ways {
        let trial = Trial::new(testbed, app, way.flow);
        let mut nora = trial.user("browser", "Nora");
        let arrived = async {
            let visit = trial.begin_by(&mut nora.browser, way).await?;
            let page = trial.to_provider(&mut nora.browser, visit).await?;
            nora.choose(&page).await
        };
        let callback = arrived.await.map_err(cannot_learn)?;
        way.callback = callback.url.path().to_owned();
    }
    app.ways = ways;
    Ok(())
}

/// Finds a page that shows who is signed in, and the session's cookies.
pub(super) async fn find_person(
    testbed: &Testbed,
    hints: &Hints,
    app: &mut App,
) -> Result<(), String> {
    let trial = Trial::new(testbed, app, app.ways[0].flow);
    let mut nora = trial.user("browser", "Nora");
    let landing = nora.try_sign_in().await.map_err(cannot_learn)?;
    let whoami = match &hints.whoami {
        Some(path) => {
            let url = testbed.at(path)?;
            let page = nora.open(&url).await.map_err(cannot_learn)?;
            shows(&nora, &page).then(|| path.clone())
        }
        None => shown_on(&mut nora, &landing).await,
    };
    let whoami = whoami.ok_or_else(|| not_shown(hints, &landing))?;
    let cookies = session_cookies(&nora, &whoami).await;
    let cookies = cookies.map_err(cannot_learn)?;
    app.whoami = whoami;
    app.session_cookies = cookies;
    Ok(())
}

fn shows(user: &User<'_>, page: &Page) -> bool {
    page.status == 200 && user.person.is_shown_in(&page.body)
}

/// Whether a cookie that the app sets at the start of a login is SameSite=Strict.
pub(super) async fn gets_strict_cookie(testbed: &Testbed, app: &App) -> bool {
    let trial = Trial::new(testbed, app, app.ways[0].flow);
    let mut browser = trial.browser("browser");
    let begun = trial.begin(&mut browser).await;
    let cookies = browser.jar.of(&testbed.start);
    let mut policies = cookies.iter().map(|cookie| cookie.same_site);
    begun.is_ok() && policies.any(|policy| policy == Some(SameSite::Strict))
}

/// The first cookie of the app that browsers drop, with its attributes.
pub(super) async fn dropped_cookie(testbed: &Testbed, app: &App) -> Option<String> {
    let trial = Trial::new(testbed, app, app.ways.first()?.flow);
    let mut nora = trial.user("browser", "Nora");
    let _ = nora.try_sign_in().await;
    let pages = nora.browser.seen.iter();
    pages
        .filter(|page| testbed.is_app(&page.url))
        .find_map(|page| {
            let lines = page.headers.get_all("set-cookie").iter();
            let mut lines = lines.filter_map(|line| line.to_str().ok());
            let dropped = lines.find(|line| Cookie::parse(line, &page.url).is_none())?;
            let (name, rest) = dropped.split_once('=')?;
            let attributes = rest
                .split_once(';')
                .map_or("", |(_, attributes)| attributes.trim());
            Some(format!("{name} ({attributes})"))
        })
}

/// The path of a page that shows the user: the start page, the one after sign-in, or one that
/// these link to.
async fn shown_on(user: &mut User<'_>, landing: &Page) -> Option<String> {
    let (testbed, app) = (user.trial.testbed, user.trial.app);
    let start = user.open(&testbed.start).await.ok()?;
    if user.person.is_shown_in(&start.body) {
        return Some(path_and_query(&testbed.start));
    }
    // Asked for again, the callback may finish a login instead of showing one.
    let mut ways = app.ways.iter();
    let is_callback = ways.any(|way| way.callback == landing.url.path());
    if user.person.is_shown_in(&landing.body) && !is_callback {
        return Some(path_and_query(&landing.url));
    }
    let linked = [&start, landing].into_iter().flat_map(Page::controls);
    let linked: Vec<Url> = linked
        .filter(|control| matches!(control, Clickable::Link(_)))
        .map(|control| control.target())
        .filter(|url| testbed.is_app(url) && !has_word(url.path(), &SIGN_OUT))
        .collect();
    let known = ["/me", "/api/me", "/profile", "/account", "/dashboard"];
    let known = known.iter().filter_map(|path| testbed.at(path).ok());
    for url in linked.into_iter().chain(known) {
        if let Ok(page) = user.open(&url).await
            && shows(user, &page)
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

/// The cookies that carry the session of a signed-in user: those without which the app does
/// not show the person, or with which alone it does. An app has others, for its language, or
/// against forms of other sites, whose attributes are their own.
async fn session_cookies(user: &User<'_>, whoami: &str) -> Outcome<Vec<String>> {
    let testbed = user.trial.testbed;
    let whoami = testbed.at(whoami)?;
    let shows = async |keeps: &(dyn Fn(&str) -> bool + Sync)| -> Outcome<bool> {
        let mut copy = user.browser.clone();
        copy.jar = user.browser.jar.only(keeps);
        Ok(user.person.is_shown_in(&copy.open(&whoami).await?.body))
    };
    let mut names: Vec<String> = Vec::new();
    for cookie in user.browser.jar.of(&testbed.start) {
        let own = cookie.name;
        let carries = !shows(&|name| name != own).await? || shows(&|name| name == own).await?;
        if carries && !names.contains(&own) {
            names.push(own);
        }
    }
    Ok(names)
}

/// Finds the step after which the app no longer shows the person.
pub(super) async fn find_sign_out(
    testbed: &Testbed,
    hints: &Hints,
    start: &Page,
    app: &mut App,
) -> Result<(), String> {
    if let Some(step) = &hints.sign_out {
        app.sign_out_page = page_with(testbed, app, step).await?;
        app.sign_out = Some(step.clone());
        return Ok(());
    }
    for (step, page) in candidates(testbed, app, start).await? {
        app.sign_out = Some(step);
        app.sign_out_page = page;
        if signs_out(testbed, app).await.map_err(cannot_learn)? {
            return Ok(());
        }
    }
    app.sign_out = None;
    Ok(())
}

/// The steps that only a signed-in user has, or that say that they sign out, each with its
/// page; likely ones first.
async fn candidates(
    testbed: &Testbed,
    app: &App,
    start: &Page,
) -> Result<Vec<(Step, String)>, String> {
    let signed_out: Vec<_> = start.controls().iter().map(Step::to).collect();
    let mut found: Vec<(Step, String, bool)> = Vec::new();
    for page in pages_of_user(testbed, app).await? {
        for control in page.controls() {
            let step = Step::to(&control);
            let words = control.describe();
            let is_likely = has_word(&words, &SIGN_OUT);
            let is_new = (is_likely || !signed_out.iter().any(|it| it.is_like(&step)))
                && !found.iter().any(|(its, _, _)| its.is_like(&step));
            if is_new && testbed.is_app(&control.target()) && !has_word(&words, &DESTRUCTIVE) {
                found.push((step, path_and_query(&page.url), is_likely));
            }
        }
    }
    found.sort_by_key(|(_, _, is_likely)| !is_likely);
    let likely_first = found.into_iter().map(|(step, page, _)| (step, page));
    Ok(likely_first.take(MAX_PRESSES).collect())
}

/// Whether the app's step, which is tried on a user of its own, signs out.
async fn signs_out(testbed: &Testbed, app: &App) -> Outcome<bool> {
    let trial = Trial::new(testbed, app, app.ways[0].flow);
    let mut otto = trial.user("browser", "Otto");
    otto.sign_in().await?;
    Ok(otto.sign_out().await.is_ok() && !otto.is_signed_in().await?)
}

/// The pages that a user sees after a sign-in.
async fn pages_of_user(testbed: &Testbed, app: &App) -> Result<[Page; 3], String> {
    let trial = Trial::new(testbed, app, app.ways[0].flow);
    let mut otto = trial.user("browser", "Otto");
    let opened = async {
        let landing = otto.sign_in().await?;
        let whoami = otto.whoami().await?;
        let home = otto.open(&testbed.start).await?;
        Ok([whoami, home, landing])
    };
    opened.await.map_err(cannot_learn)
}

/// Whether the text of a control, or an address, has one of these words.
fn has_word(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// The page on which a signed-in person finds the step.
async fn page_with(testbed: &Testbed, app: &App, step: &Step) -> Result<String, String> {
    let mut pages = pages_of_user(testbed, app).await?.into_iter();
    let page = pages.find(|page| step.on_page(page).is_some());
    page.map(|page| path_and_query(&page.url)).ok_or_else(|| {
        format!("sign_out: {} finds nothing on the pages of a signed-in person: give a selector of a link, a button or a form there", step.describe())
    })
}
