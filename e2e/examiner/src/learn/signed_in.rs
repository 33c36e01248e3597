//! The page that shows who is signed in, the callbacks, and the session's cookies, learnt
//! by signing in.

use url::Url;

use super::{Hints, cannot_learn, session_cookies, sign_out};
use crate::app::{App, path_and_query};
use crate::browser::{Browser, Control, Page, SameSite};
use crate::person::Person;
use crate::testbed::Testbed;
use crate::trial::Trial;

/// Signs in by each way once, to learn the callback.
pub(super) async fn complete_callbacks(testbed: &Testbed, app: &mut App) -> Result<(), String> {
    let mut ways = app.ways.clone();
    for way in &mut ways {
        let trial = Trial::new(testbed, app, way.flow);
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
pub(super) async fn find_person(
    testbed: &Testbed,
    hints: &Hints,
    app: &mut App,
) -> Result<(), String> {
    let flow = app.ways[0].flow;
    let trial = Trial::new(testbed, app, flow);
    let mut browser = trial.browser("browser");
    let person = Person::new("Nora");
    let landing = trial
        .try_sign_in(&mut browser, &person)
        .await
        .map_err(|stop| cannot_learn(&stop))?;
    let whoami = match &hints.whoami {
        Some(path) => {
            let url = testbed.at(path).map_err(|stop| stop.actual)?;
            let page = browser
                .open(&url)
                .await
                .map_err(|stop| cannot_learn(&stop))?;
            (page.status == 200 && person.is_shown_in(&page.body)).then(|| path.clone())
        }
        None => shown_on(testbed, app, &mut browser, &person, &landing).await,
    };
    let Some(whoami) = whoami else {
        return Err(not_shown(hints, &landing));
    };
    app.whoami = whoami;
    let cookies = session_cookies::find(testbed, app, &browser, &person).await;
    app.session_cookies = cookies.map_err(|stop| cannot_learn(&stop))?;
    Ok(())
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

/// The path of a page that shows `person`: the start page, the one after sign-in, or one
/// that these link to.
async fn shown_on(
    testbed: &Testbed,
    app: &App,
    browser: &mut Browser,
    person: &Person,
    landing: &Page,
) -> Option<String> {
    let start = browser.open(&testbed.start).await.ok()?;
    if person.is_shown_in(&start.body) {
        return Some(path_and_query(&testbed.start));
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
        .filter(|url| testbed.is_app(url) && !sign_out::sounds_like(url.path()))
        .collect();
    let known = ["/me", "/api/me", "/profile", "/account", "/dashboard"];
    let known = known.iter().filter_map(|path| testbed.at(path).ok());
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
