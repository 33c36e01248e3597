//! The findings of a first sign-in: the callbacks, the page that shows who is signed
//! in, the session's cookies, and the way to sign out.

use std::collections::BTreeSet;

use agent::url::path_and_query;
use url::Url;

use super::{Learning, has_word};
use crate::app::Step;
use crate::browser::{Clickable, Cookie, Page, SameSite};
use crate::plan::Hints;
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

impl Learning<'_> {
    /// A trial by the first way to sign in.
    fn trial(&self) -> Trial<'_> {
        Trial::new(self.testbed, &self.app, self.app.ways[0].flow)
    }

    /// Signs in by each way once, to learn the callback.
    pub(super) async fn find_callbacks(&mut self) -> Result<(), String> {
        let mut ways = self.app.ways.clone();
        for way in &mut ways {
            let trial = Trial::new(self.testbed, &self.app, way.flow);
            let mut nora = trial.user("browser", "Nora");
            let arrived = async {
                let visit = nora.begin_by(way).await?;
                nora.come_back(visit).await
            };
            let callback = arrived.await.map_err(cannot_learn)?;
            way.callback = callback.url.path().to_owned();
        }
        let callbacks: BTreeSet<_> = ways.iter().map(|way| way.callback.as_str()).collect();
        let callbacks = Vec::from_iter(callbacks).join(" and ");
        self.found("callback", format!("the browser comes back to {callbacks}"));
        self.app.ways = ways;
        Ok(())
    }

    /// Looks for a page that shows who is signed in, and for the session's cookies.
    pub(super) async fn look_for_person(&mut self) -> Result<(), String> {
        let trial = self.trial();
        let mut nora = trial.user("browser", "Nora");
        let landing = nora.try_sign_in().await.map_err(cannot_learn)?;
        let whoami = match &self.hints.whoami {
            Some(path) => {
                let page = nora.open(&self.testbed.at(path)?).await;
                let is_shown = shows(&nora, &page.map_err(cannot_learn)?);
                is_shown.then(|| path.clone())
            }
            None => shown_on(&mut nora, &landing).await,
        };
        let whoami = whoami.ok_or_else(|| not_shown(self.hints, &landing))?;
        let cookies = session_cookies(&nora, &whoami).await;
        self.app.session_cookies = cookies.map_err(cannot_learn)?;
        self.app.whoami = whoami;
        Ok(())
    }

    /// Whether a cookie that the app sets at the start of a login is SameSite=Strict.
    pub(super) async fn gets_strict_cookie(&self) -> bool {
        let trial = self.trial();
        let mut nora = trial.user("browser", "Nora");
        let begun = nora.begin().await;
        let cookies = nora.browser.jar.of(&self.testbed.start);
        let mut policies = cookies.iter().map(|cookie| cookie.same_site);
        begun.is_ok() && policies.any(|policy| policy == Some(SameSite::Strict))
    }

    /// The first cookie of the app that browsers drop, with its attributes.
    pub(super) async fn dropped_cookie(&self) -> Option<String> {
        let trial = Trial::new(self.testbed, &self.app, self.app.ways.first()?.flow);
        let mut nora = trial.user("browser", "Nora");
        let _ = nora.try_sign_in().await;
        let pages = nora.browser.seen.iter();
        let mut pages = pages.filter(|page| self.testbed.is_app(&page.url));
        pages.find_map(|page| {
            let lines = page.headers.get_all("set-cookie").iter();
            let mut lines = lines.filter_map(|line| line.to_str().ok());
            let dropped = lines.find(|line| Cookie::parse(line, &page.url).is_none())?;
            let (pair, attributes) = dropped.split_once(';').unwrap_or((dropped, ""));
            let (name, _) = pair.split_once('=')?;
            Some(format!("{name} ({})", attributes.trim()))
        })
    }

    /// Finds the step after which the app no longer shows the person.
    pub(super) async fn find_sign_out(&mut self, start: &Page) -> Result<(), String> {
        let pages = self.pages_of_user().await?;
        if let Some(step) = &self.hints.sign_out {
            let page = pages.iter().find(|page| step.on_page(page).is_some());
            let page = page.ok_or_else(|| {
                format!("sign_out: {} finds nothing on the pages of a signed-in person: give a selector of a link, a button or a form there", step.describe())
            })?;
            self.app.sign_out_page = path_and_query(&page.url);
            self.app.sign_out = Some(step.clone());
        } else {
            self.try_to_sign_out(start, &pages)
                .await
                .map_err(cannot_learn)?;
        }
        let says = match &self.app.sign_out {
            Some(step) => format!("{} signs out", step.describe()),
            None => {
                "no way to sign out was found; if there is one, name it with sign_out".to_owned()
            }
        };
        self.found("sign_out", says);
        Ok(())
    }

    /// The pages that a user sees after a sign-in.
    async fn pages_of_user(&self) -> Result<[Page; 3], String> {
        let trial = self.trial();
        let mut otto = trial.user("browser", "Otto");
        let opened = async {
            let landing = otto.sign_in().await?;
            let whoami = otto.whoami().await?;
            let home = otto.open(&self.testbed.start).await?;
            Ok([whoami, home, landing])
        };
        opened.await.map_err(cannot_learn)
    }

    /// Takes the steps on these pages that may sign out, each as a user of its own, up to the one
    /// that does.
    async fn try_to_sign_out(&mut self, start: &Page, pages: &[Page]) -> Outcome {
        for (step, page) in self.candidates(start, pages) {
            self.app.sign_out = Some(step);
            self.app.sign_out_page = page;
            let trial = self.trial();
            let mut otto = trial.signed_in("browser", "Otto").await?;
            if otto.sign_out().await.is_ok() && !otto.is_signed_in().await? {
                return Ok(());
            }
        }
        self.app.sign_out = None;
        Ok(())
    }

    /// The steps that only a signed-in user has, or that say that they sign out, each with its
    /// page; likely ones first.
    fn candidates(&self, start: &Page, pages: &[Page]) -> Vec<(Step, String)> {
        let signed_out: Vec<_> = start.controls().iter().map(Step::to).collect();
        let mut found: Vec<(Step, String, bool)> = Vec::new();
        for page in pages {
            for control in page.controls() {
                let step = Step::to(&control);
                let words = control.describe();
                let is_likely = has_word(&words, &SIGN_OUT);
                let is_new = (is_likely || !signed_out.iter().any(|it| it.is_like(&step)))
                    && !found.iter().any(|(its, _, _)| its.is_like(&step));
                let is_app = self.testbed.is_app(&control.target());
                if is_new && is_app && !has_word(&words, &DESTRUCTIVE) {
                    found.push((step, path_and_query(&page.url), is_likely));
                }
            }
        }
        found.sort_by_key(|(_, _, is_likely)| !is_likely);
        let likely_first = found.into_iter().map(|(step, page, _)| (step, page));
        likely_first.take(MAX_PRESSES).collect()
    }
}

fn shows(user: &User<'_>, page: &Page) -> bool {
    page.status == 200 && user.person.is_shown_in(&page.body)
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
