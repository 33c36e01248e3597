//! The controls that start a login.

use super::has_word;
use super::refusals::{self, Refusal};
use crate::app::{App, Failed, Flow, SignInWay, Step};
use crate::browser::{Arrival, Browser, Page, Visit, origin};
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::plan::Hints;
use crate::search;
use crate::testbed::Testbed;
use crate::transcript::Transcript;
use crate::trial::{Trial, take};
use crate::verdict::{Outcome, Stop, require};

/// The number of controls that are pressed at most.
const MAX_PRESSES: usize = 40;

/// The words of controls that are tried first. They only save time.
const LIKELY: [&str; 8] = [
    "google", "github", "sign", "log in", "login", "auth", "continue", "connect",
];

/// The effects of the controls.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ways: Vec<SignInWay>,
    /// A sentence about each control that may start a login and cannot be followed.
    pub(super) untried: Vec<String>,
    /// The other controls, each with its answer.
    pub(super) others: Vec<String>,
    pub(super) failed: Failed,
}

/// Presses the controls, and finds the ways to sign in.
pub(super) async fn find(testbed: &Testbed, hints: &Hints, start: &Page) -> Result<Found, String> {
    let projects = testbed.control.projects().await?.into_iter();
    let mut search = Search {
        testbed,
        secrets: projects.map(|it| it.client_secret).collect(),
        found: Found::default(),
        pressed: Vec::new(),
    };
    if hints.sign_in.is_empty() {
        search.press_all(start, &[]).await?;
    } else {
        search.press_hinted(hints, start).await?;
    }
    if search.found.ways.is_empty() && search.found.untried.is_empty() {
        return Err(nothing_found(testbed, start, search.pressed.len()));
    }
    Ok(search.found)
}

struct Search<'a> {
    testbed: &'a Testbed,
    /// The client secrets that no browser may get.
    secrets: Vec<String>,
    found: Found,
    /// The controls that were pressed.
    pressed: Vec<Step>,
}

/// The result of one press.
enum Pressed {
    Started(SignInWay),
    /// Another page of the app.
    Page(Page),
}

impl Search<'_> {
    /// Presses every control of `start`, and every new control of the pages that they
    /// lead to.
    async fn press_all(&mut self, start: &Page, before: &[Step]) -> Result<(), String> {
        let mut further = Vec::new();
        let mut controls = start.controls();
        controls.sort_by_key(|control| !has_word(&control.describe(), &LIKELY));
        for control in controls {
            let (target, step) = (control.target(), Step::to(&control));
            let is_external = !self.testbed.is_app(&target) && !self.testbed.is_broker(&target);
            if is_external || self.pressed.iter().any(|it| it.is_like(&step)) {
                continue;
            }
            if self.pressed.len() >= MAX_PRESSES {
                let says = "more were not pressed: name one that signs in with sign_in";
                self.found.others.push(says.to_owned());
                return Ok(());
            }
            self.pressed.push(step.clone());
            let steps = [before, &[step]].concat();
            match self.press(&steps, &control.describe()).await? {
                Ok(Pressed::Started(way)) => self.add(way),
                Ok(Pressed::Page(page)) if before.is_empty() => further.push((steps, page)),
                _ => {}
            }
        }
        for (steps, page) in further {
            Box::pin(self.press_all(&page, &steps)).await?;
        }
        Ok(())
    }

    async fn press_hinted(&mut self, hints: &Hints, start: &Page) -> Result<(), String> {
        for (provider, step) in &hints.sign_in {
            let control = step.describe();
            if step.on_page(start).is_none() {
                let path = start.url.path();
                return Err(format!(
                    "sign_in.{provider}: {control} finds nothing on {path}: give a selector of a link, a button or a form there"
                ));
            }
            let known = self.found.untried.len();
            match self.press(std::slice::from_ref(step), provider).await? {
                Ok(Pressed::Started(way)) if way.provider != provider => {
                    let other = way.provider;
                    return Err(format!(
                        "sign_in.{provider}: {control} starts a sign-in with {other}"
                    ));
                }
                Ok(Pressed::Started(way)) => self.add(way),
                _ if self.found.untried.len() == known => {
                    return Err(format!(
                        "sign_in.{provider}: a press of {control} does not reach the broker"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, way: SignInWay) {
        let mut known = self.found.ways.iter();
        if !known.any(|it| it.flow == way.flow && it.provider == way.provider) {
            self.found.ways.push(way);
        }
    }

    /// Takes the steps in a fresh browser, and once more if a callback had to be
    /// registered. `words` are those of the control.
    async fn press(&mut self, steps: &[Step], words: &str) -> Result<Outcome<Pressed>, String> {
        // The project of an app that shares its stack, as far as its ways show it.
        let own = self.found.ways.first();
        let own = own.filter(|_| !self.testbed.owns_app());
        let own = own.map(|way| way.project.clone());
        let control = steps.last().map_or_else(String::new, Step::describe);
        let mut is_again = false;
        loop {
            let mark = self.testbed.mark().await?;
            let mut browser = self.testbed.browser("browser", &Transcript::start());
            let mut pressed = self.press_in(&mut browser, steps).await;
            let calls = self.testbed.calls(mark).await?;
            self.look_for_leaks(&browser, &calls);
            if let Ok(Pressed::Started(way)) = &mut pressed {
                let project = calls.iter().rev().find_map(|call| call.project.clone());
                way.project = project.unwrap_or_default();
                return Ok(pressed);
            }
            match refusals::look(self.testbed, &calls, own.as_deref()).await? {
                Refusal::Registered if !is_again => {
                    is_again = true;
                    continue;
                }
                Refusal::Call(says) => self.found.untried.push(format!("{control}: {says}")),
                Refusal::None | Refusal::Registered => self.note(&control, words, &pressed, &calls),
            }
            return Ok(pressed);
        }
    }

    /// Notes what a control does that leads no browser to the broker.
    fn note(&mut self, control: &str, words: &str, pressed: &Outcome<Pressed>, calls: &[Call]) {
        let (answer, status) = match pressed {
            Ok(Pressed::Started(_)) => return,
            Ok(Pressed::Page(page)) => {
                (format!("answers with status {}", page.status), page.status)
            }
            Err(stop) => (format!("leads nowhere ({})", stop.actual), 400),
        };
        let is_begun = |it: &Call| it.operation == SESSION && it.status.is_some_and(|it| it < 400);
        let names = format!("{control} {words}").to_lowercase();
        let names_provider = names.contains("google") || names.contains("github");
        if calls.iter().any(is_begun) {
            self.found.untried.push(format!(
                "{control} begins a login at the broker and {answer}, which leads the browser no further: if a script \
                 does, name its request with sign_in, or let the app answer with a redirect"
            ));
        } else if status >= 500 || (status >= 400 && names_provider) {
            let says = format!("{control} {answer}: if it signs in, nothing is known about it");
            self.found.untried.push(says);
        } else {
            self.found.others.push(format!("{control} {answer}"));
        }
    }

    /// Looks for secrets in what the browser got: no check sees what a login does that it
    /// cannot follow.
    fn look_for_leaks(&mut self, browser: &Browser, calls: &[Call]) {
        let haystacks = search::haystacks_of(browser, |page| self.testbed.is_app(&page.url));
        let mut secrets = self.secrets.iter();
        let secret = secrets.find_map(|it| search::find_text(&haystacks, it));
        let logins = calls.iter().filter(|it| it.operation == SESSION);
        let logins = logins.filter_map(|it| it.login.clone()).collect();
        let key = search::find_key(&haystacks, &logins);
        for (check, what, place) in [
            ("secret-not-in-browser", "the client secret", secret),
            ("key-not-in-browser", "the session key of a login", key),
        ] {
            let lines = || browser.transport.transcript.lines();
            let failure = place.map(|it| (check, (format!("{what} is in {it}"), lines())));
            self.found.failed.extend(failure);
        }
    }

    async fn press_in(&self, browser: &mut Browser, steps: &[Step]) -> Outcome<Pressed> {
        let page = browser.open(&self.testbed.start).await?;
        let page = match take(self.testbed, steps, browser, page).await? {
            Arrival::Stopped(visit) => return self.started(browser, steps, visit).await,
            Arrival::Page(page) => page,
        };
        let is_app = self.testbed.is_app(&page.url);
        require(is_app, || format!("it leads to {}", origin(&page.url)))?;
        Ok(Pressed::Page(page))
    }

    /// Follows a visit of the broker to the provider, which the page's control does not
    /// tell.
    async fn started(
        &self,
        browser: &mut Browser,
        steps: &[Step],
        visit: Visit,
    ) -> Outcome<Pressed> {
        let flow = match visit.url.path() {
            "/authorize" => Flow::Legacy,
            path if path.starts_with("/login/") => Flow::Clean,
            path => return Err(Stop::fail(format!("it leads to the broker's {path}"))),
        };
        let app = App::default();
        let trial = Trial::new(self.testbed, &app, flow);
        let page = trial.to_provider(browser, visit).await?;
        let provider = self.testbed.provider_at(&page.url).unwrap_or("google");
        Ok(Pressed::Started(SignInWay {
            flow,
            provider,
            steps: steps.to_vec(),
            callback: String::new(),
            project: String::new(),
        }))
    }
}

/// The sentence for a page on which nothing starts a login.
fn nothing_found(testbed: &Testbed, start: &Page, presses: usize) -> String {
    let path = start.url.path();
    let has_password = start.forms().iter().any(|form| form.has_password);
    let has_script = start.body.contains("<script") || start.body.contains("onclick=");
    let example = "like sign_in = { google = \"POST /login/google\" }";
    if has_password {
        format!(
            "{path} asks for a password of the app's own before anything can be pressed: give a page that a visitor sees without it"
        )
    } else if presses > 0 {
        let script = match has_script {
            true => format!(", or name the request of its script, {example}"),
            false => String::new(),
        };
        format!(
            "{presses} links and buttons were pressed from {path} on, and none reached the broker at {}: give the app that address as SIGNIN_BASE_URL, give another start page{script}",
            testbed.addresses.broker
        )
    } else if has_script {
        format!(
            "{path} has no link and no form that works without scripts: name the request that your script makes, {example} in examine.toml"
        )
    } else {
        format!(
            "{path} has no link and no form to press: give the page on which a visitor chooses to sign in"
        )
    }
}
