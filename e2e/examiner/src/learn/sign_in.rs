//! The controls that start a login.

use std::collections::HashSet;

use url::Url;

use super::refusals::{self, Refusal};
use crate::app::{App, Flow, SignInWay, Step};
use crate::browser::{Arrival, Browser, Clickable, Page, Visit};
use crate::plan::Hints;
use crate::testbed::Testbed;
use crate::transcript::Transcript;
use crate::trial::Trial;

/// The number of controls that are pressed at most.
const MAX_PRESSES: usize = 40;

/// The words of controls that are tried first. They only save time.
const LIKELY: [&str; 8] = [
    "google", "github", "sign", "log in", "login", "auth", "continue", "connect",
];

/// A way with the project of the call that it made.
pub(super) struct FoundWay {
    pub(super) way: SignInWay,
    pub(super) project: String,
}

/// The ways to sign in.
pub(super) async fn find(
    testbed: &Testbed,
    hints: &Hints,
    start: &Page,
) -> Result<Vec<FoundWay>, String> {
    let mut search = Search {
        testbed,
        ways: Vec::new(),
        pressed: HashSet::new(),
        presses: 0,
        refusal: None,
    };
    if hints.sign_in.is_empty() {
        search.press_all(start, &[]).await?;
    } else {
        search.press_hinted(hints, start).await?;
    }
    match search.refusal {
        // Also if another way works: its flow would look like one that the app lacks.
        Some(refusal) => Err(refusal),
        None if search.ways.is_empty() => Err(nothing_found(testbed, start, search.presses)),
        None => Ok(search.ways),
    }
}

struct Search<'a> {
    testbed: &'a Testbed,
    ways: Vec<FoundWay>,
    /// The controls that were pressed, by their description.
    pressed: HashSet<String>,
    presses: usize,
    /// The sentence about a login that began and that the broker refused.
    refusal: Option<String>,
}

/// The result of one press.
enum Pressed {
    Started(FoundWay),
    /// Another page of the app.
    Page(Page),
    Nothing,
}

impl Search<'_> {
    /// Presses every control of `start`, and every new control of the pages that they
    /// lead to.
    async fn press_all(&mut self, start: &Page, before: &[Step]) -> Result<(), String> {
        let mut further = Vec::new();
        for control in likely_first(start.controls()) {
            let target = control.target();
            let is_external = !self.testbed.is_app(&target) && !self.testbed.is_broker(&target);
            let is_new = self.pressed.insert(control.describe());
            if is_external || !is_new || self.presses >= MAX_PRESSES {
                continue;
            }
            let steps = [before, &[Step::to(&control)]].concat();
            match self.press(&steps).await? {
                Pressed::Started(found) => self.add(found),
                Pressed::Page(page) if before.is_empty() => further.push((steps, page)),
                Pressed::Page(_) | Pressed::Nothing => {}
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
            match self.press(std::slice::from_ref(step)).await? {
                Pressed::Started(found) if found.way.provider != provider => {
                    let other = found.way.provider;
                    return Err(format!(
                        "sign_in.{provider}: {control} starts a sign-in with {other}"
                    ));
                }
                Pressed::Started(found) => self.add(found),
                Pressed::Page(_) | Pressed::Nothing if self.refusal.is_none() => {
                    return Err(format!(
                        "sign_in.{provider}: a press of {control} does not reach the broker"
                    ));
                }
                Pressed::Page(_) | Pressed::Nothing => {}
            }
        }
        Ok(())
    }

    /// The project of an app that shares its stack, as far as its ways show it.
    fn own_project(&self) -> Option<&str> {
        let found = self.ways.first().filter(|_| !self.testbed.owns_app());
        found.map(|found| found.project.as_str())
    }

    fn add(&mut self, found: FoundWay) {
        let is_known = self.ways.iter().any(|known| {
            known.way.flow == found.way.flow && known.way.provider == found.way.provider
        });
        if !is_known {
            self.ways.push(found);
        }
    }

    /// Takes the steps in a fresh browser, and once more if a callback had to be
    /// registered.
    async fn press(&mut self, steps: &[Step]) -> Result<Pressed, String> {
        self.presses += 1;
        let mark = self.testbed.mark().await?;
        let pressed = self.press_once(steps, mark).await?;
        if matches!(pressed, Pressed::Started(_)) {
            return Ok(pressed);
        }
        match refusals::look(self.testbed, mark, self.own_project()).await? {
            Refusal::None => Ok(pressed),
            Refusal::Registered => self.press_once(steps, mark).await,
            Refusal::Sentence(sentence) => {
                self.refusal.get_or_insert(sentence);
                Ok(pressed)
            }
        }
    }

    async fn press_once(&self, steps: &[Step], mark: u64) -> Result<Pressed, String> {
        let transcript = Transcript::start();
        let mut browser = self.testbed.browser("browser", &transcript);
        let Ok(mut page) = browser.open(&self.testbed.start).await else {
            return Ok(Pressed::Nothing);
        };
        for step in steps {
            let Some(visit) = step.on_page(&page) else {
                return Ok(Pressed::Nothing);
            };
            let is_broker = |url: &Url| self.testbed.is_broker(url);
            let arrival = if is_broker(&visit.url) {
                Arrival::Stopped(visit)
            } else {
                match browser.visit_until(visit, is_broker).await {
                    Ok(arrival) => arrival,
                    Err(_) => return Ok(Pressed::Nothing),
                }
            };
            match arrival {
                Arrival::Stopped(visit) => {
                    return self.started(browser, steps, visit, mark).await;
                }
                Arrival::Page(next) => page = next,
            }
        }
        Ok(if self.testbed.is_app(&page.url) {
            Pressed::Page(page)
        } else {
            Pressed::Nothing
        })
    }

    /// Follows a visit of the broker to the provider, which the page's control does not
    /// tell.
    async fn started(
        &self,
        mut browser: Browser,
        steps: &[Step],
        visit: Visit,
        mark: u64,
    ) -> Result<Pressed, String> {
        let flow = match visit.url.path() {
            "/authorize" => Flow::Legacy,
            path if path.starts_with("/login/") => Flow::Clean,
            _ => return Ok(Pressed::Nothing),
        };
        let app = App::default();
        let trial = Trial::new(self.testbed, &app, flow);
        let Ok(page) = trial.to_provider(&mut browser, visit).await else {
            return Ok(Pressed::Nothing);
        };
        let provider = self.testbed.provider_at(&page.url).unwrap_or("google");
        let calls = self.testbed.calls(mark).await?;
        let project = calls.iter().rev().find_map(|call| call.project.clone());
        Ok(Pressed::Started(FoundWay {
            way: SignInWay {
                flow,
                provider,
                steps: steps.to_vec(),
                callback: String::new(),
            },
            project: project.unwrap_or_default(),
        }))
    }
}

fn likely_first(mut controls: Vec<Clickable>) -> Vec<Clickable> {
    controls.sort_by_key(|control| {
        let text = control.describe().to_lowercase();
        !LIKELY.iter().any(|word| text.contains(word))
    });
    controls
}

/// The sentence for a page on which nothing starts a login.
fn nothing_found(testbed: &Testbed, start: &Page, presses: usize) -> String {
    let path = start.url.path();
    let has_password = start.forms().iter().any(|form| form.has_password);
    let has_script = start.body.contains("<script") || start.body.contains("onclick=");
    if has_password {
        format!(
            "{path} asks for a password of the app's own before anything can be pressed: give a page that a visitor sees without it"
        )
    } else if presses == 0 && has_script {
        format!(
            "{path} has no link and no form that works without scripts: name the request that your script makes, like sign_in = {{ google = \"POST /login/google\" }} in examine.toml"
        )
    } else if presses == 0 {
        format!(
            "{path} has no link and no form to press: give the page on which a visitor chooses to sign in"
        )
    } else {
        let script = if has_script {
            ", or name the request of its script, like sign_in = { google = \"POST /login/google\" }"
        } else {
            ""
        };
        format!(
            "{presses} links and buttons were pressed from {path} on, and none reached the broker at {}: give the app that address as SIGNIN_BASE_URL, give another start page{script}",
            testbed.addresses.broker
        )
    }
}
