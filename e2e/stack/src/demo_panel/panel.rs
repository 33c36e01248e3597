//! The panel of a page: the choice of the login that it tells, and the HTML that is added.
//!
//! Of several logins, the profile tells the last one that signed a user in, and any other page
//! the one with the latest call: that of the tab that has just come back.

use std::sync::Arc;

use askama::Template;

use super::story::{Line, Source, Story};
use crate::event_log::LoggedEvent;
use crate::facts::meaning::{Outcome, meaning};
use crate::facts::{LoginFlow, begun_at};
use crate::proxy::ProxyState;
use crate::sources::Place;

/// A page of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Home,
    Profile,
    /// The answer to a button that starts a login.
    Start,
    Callback(LoginFlow),
}

/// The choice for one answer of the demo.
pub(super) struct LoginChoice<'a> {
    pub(super) proxy_state: &'a ProxyState,
    /// The demo's project.
    pub(super) client_id: &'a str,
    /// The number of the last event before the request.
    pub(super) before: u64,
}

/// A login with its events, oldest first.
struct Known<'a> {
    id: &'a str,
    events: Vec<Arc<LoggedEvent>>,
}

impl LoginChoice<'_> {
    /// The panel of a page; `problem` is the one that the page is about, and `logins` are the
    /// browser's.
    pub(super) fn panel(&self, page: Page, problem: Option<&str>, logins: &[String]) -> Panel {
        if page == Page::Start {
            return self.failed_start();
        }
        let known = self.known(logins);
        let chosen = match page {
            Page::Profile => {
                let signed_in = known.iter().filter(|it| self.signed_in_at(it).is_some());
                signed_in.max_by_key(|it| self.signed_in_at(it))
            }
            _ => known.iter().max_by_key(|it| it.last_seq()),
        };
        let Some(chosen) = chosen else {
            return match page {
                Page::Callback(flow) if logins.is_empty() => {
                    Panel::of(Story::default().without_login(flow))
                }
                _ => Panel::default(),
            };
        };
        let path = format!("/logins/{}", chosen.id);
        let story = self.story(&chosen.events, path.clone());
        let was_called = chosen.last_seq() > self.before;
        Panel::of(match (page, problem) {
            (Page::Callback(flow), Some("expired")) => {
                let begun = begun_at(chosen.events.iter().map(AsRef::as_ref));
                story.expired(begun.unwrap_or_default(), flow, path)
            }
            (Page::Callback(flow), Some("no_session")) => story.without_login(flow),
            (Page::Callback(flow), Some("refused")) if !was_called => story.without_login(flow),
            _ => story,
        })
        .with_login(chosen.id)
    }

    /// The panel of a login that could not be started: the calls since the request tell it,
    /// because no redirect names the login. Of two at once, none is told.
    fn failed_start(&self) -> Panel {
        let mut events = self.proxy_state.event_log.events(self.before, None);
        events.retain(|event| {
            let project = event.project.as_deref();
            event.operation == "POST /v1/login/session"
                && project.is_none_or(|project| project == self.client_id)
        });
        let is_one = !events.is_empty()
            && events
                .iter()
                .all(|it| it.request_id == events[0].request_id);
        let login = events.iter().find_map(|event| event.login.clone());
        match (is_one, login) {
            (true, Some(login)) => {
                Panel::of(self.story(&events, format!("/logins/{login}"))).with_login(&login)
            }
            (true, None) => Panel::of(self.story(&events, "/others".to_owned())),
            (false, _) => Panel::of(Story::default().without_broker()),
        }
    }

    fn story(&self, events: &[Arc<LoggedEvent>], path: String) -> Story {
        let source = Source {
            path,
            now_ms: self.proxy_state.clock.now_ms(),
            answers: &self.proxy_state.event_log,
        };
        Story::of(events, &source)
    }

    /// The logins that the stack still knows.
    fn known<'a>(&self, logins: &'a [String]) -> Vec<Known<'a>> {
        let known = logins.iter().map(|id| Known {
            id,
            events: self.proxy_state.event_log.events(0, Some(id)),
        });
        known.filter(|it| !it.events.is_empty()).collect()
    }

    /// The number of the event by which the demo learnt who the user is.
    fn signed_in_at(&self, login: &Known<'_>) -> Option<u64> {
        let is_lost = |request_id: &str| {
            let mut events = login.events.iter().filter(|it| it.request_id == request_id);
            events.any(|it| !it.is_delivered(it.fault()))
        };
        let signed_in = login.events.iter().rev().find(|event| {
            let meaning = meaning(event, &self.proxy_state.event_log);
            matches!(meaning.outcome(), Some(Outcome::SignedIn(_))) && !is_lost(&event.request_id)
        });
        signed_in.map(|event| event.seq)
    }
}

impl Known<'_> {
    fn last_seq(&self) -> u64 {
        self.events.last().map_or(0, |event| event.seq)
    }
}

/// The content of the panel; by default, of a login that the stack does not know any more.
#[derive(Default)]
pub(super) struct Panel {
    /// The lines; none if the login is gone.
    pub(super) lines: Vec<Line>,
    pub(super) login: Option<String>,
}

#[derive(Template)]
#[template(path = "demo_panel/panel.html")]
struct PanelTemplate<'a> {
    panel: &'a Panel,
    control: &'a str,
}

#[derive(Template)]
#[template(path = "demo_panel/links.html")]
struct LinksTemplate<'a> {
    control: &'a str,
    clean: String,
    legacy: String,
}

impl Panel {
    pub(super) fn of(story: Story) -> Self {
        Self {
            lines: story.into_lines(),
            login: None,
        }
    }

    pub(super) fn with_login(self, login: &str) -> Self {
        Self {
            login: Some(login.to_owned()),
            ..self
        }
    }
}

/// The problem that a page is about, from its mark.
pub(super) fn problem(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("data-problem=\"")?;
    rest.split_once('"').map(|(problem, _)| problem)
}

/// A page with the panel: above the first card of the profile, at the end of another page.
pub(super) fn with_panel(html: &str, control: &str, panel: &Panel) -> String {
    let template = PanelTemplate { panel, control };
    let addition = template.render().expect("the template only writes strings");
    let place = match problem(html) {
        None => "<section class=\"card\"",
        Some(_) => "</main>",
    };
    styled(&inserted(html, place, &addition))
}

/// The home page with links to the pages of the stack.
pub(super) fn with_links(html: &str, control: &str) -> String {
    let template = LinksTemplate {
        control,
        clean: Place::StartLogin.file().href(),
        legacy: Place::LegacyState.file().href(),
    };
    let addition = template.render().expect("the template only writes strings");
    styled(&inserted(html, "<main", &addition))
}

fn styled(html: &str) -> String {
    let link = "<link rel=\"stylesheet\" href=\"/kit/panel.css\">\n";
    inserted(html, "</head>", link)
}

/// `html` with `addition` before the first `place`; unchanged without one.
fn inserted(html: &str, place: &str, addition: &str) -> String {
    match html.find(place) {
        Some(at) => [&html[..at], addition, &html[at..]].concat(),
        None => html.to_owned(),
    }
}
