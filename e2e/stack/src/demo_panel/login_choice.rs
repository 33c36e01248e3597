//! The choice of the login that a page tells.

use std::sync::Arc;

use super::DemoPanel;
use super::page::Panel;
use super::story::{Source, Story};
use crate::event_log::LoggedEvent;
use crate::inspector::{Outcome, outcome};
use crate::login_status::LoginFlow;

/// A page of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Home,
    Profile,
    /// The answer to a button that starts a login.
    Start,
    Callback(LoginFlow),
}

/// A login with its events, oldest first.
struct Known<'a> {
    id: &'a str,
    events: Vec<Arc<LoggedEvent>>,
}

impl DemoPanel {
    /// The panel of a page; `problem` is the one that the page is about, `before` the
    /// number of the last event before its request, and `logins` are the browser's.
    pub(super) fn panel(
        &self,
        page: Page,
        problem: Option<&str>,
        before: u64,
        logins: &[String],
    ) -> Panel {
        if page == Page::Start {
            return self.failed_start(before);
        }
        let known = self.known(logins);
        let chosen = match page {
            Page::Profile => known.iter().max_by_key(|it| self.signed_in_at(it)),
            _ => known.iter().max_by_key(|it| it.last_seq()),
        };
        let chosen = chosen.filter(|it| page != Page::Profile || self.signed_in_at(it).is_some());
        let Some(chosen) = chosen else {
            return match page {
                Page::Callback(flow) if logins.is_empty() => {
                    Panel::of(Story::default().without_login(flow))
                }
                _ => Panel::gone(),
            };
        };
        let story = Story::of(
            &chosen.events,
            &self.source(format!("/logins/{}", chosen.id)),
        );
        let was_called = chosen.last_seq() > before;
        Panel::of(match (page, problem) {
            (Page::Callback(flow), Some("no_session" | "expired")) => story.without_login(flow),
            (Page::Callback(flow), Some("refused")) if !was_called => story.without_login(flow),
            _ => story,
        })
        .with_login(chosen.id)
    }

    /// The panel of a login that could not be started: the calls since `before` tell it,
    /// because no redirect names the login. Of two at once, none is told.
    fn failed_start(&self, before: u64) -> Panel {
        let mut events = self.proxy_state.event_log.events(before, None);
        events.retain(|event| {
            let project = event.project.as_deref();
            event.operation == "POST /v1/login/session"
                && project.is_none_or(|project| project == self.client_id)
        });
        let first = events.first().map(|event| event.request_id.clone());
        let is_one = events
            .iter()
            .all(|it| Some(&it.request_id) == first.as_ref());
        let login = events.iter().find_map(|event| event.login.clone());
        match (is_one && first.is_some(), login) {
            (true, Some(login)) => {
                let source = self.source(format!("/logins/{login}"));
                Panel::of(Story::of(&events, &source)).with_login(&login)
            }
            (true, None) => Panel::of(Story::of(&events, &self.source("/others".to_owned()))),
            (false, _) => Panel::of(Story::default().without_broker()),
        }
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
        let log = &self.proxy_state.event_log;
        let is_lost = |request_id: &str| {
            let mut events = login.events.iter().filter(|it| it.request_id == request_id);
            events.any(|it| !it.is_delivered(it.fault))
        };
        let signed_in = login.events.iter().rev().find(|event| {
            let body = log.answer_body(&event.request_id);
            matches!(outcome(event, body.as_ref()), Some(Outcome::SignedIn(_)))
                && !is_lost(&event.request_id)
        });
        signed_in.map(|event| event.seq)
    }

    fn source(&self, path: String) -> Source<'_> {
        Source {
            path,
            now_ms: self.proxy_state.clock.now_ms(),
            body: Box::new(|request_id| self.proxy_state.event_log.answer_body(request_id)),
        }
    }
}

impl Known<'_> {
    fn last_seq(&self) -> u64 {
        self.events.last().map_or(0, |event| event.seq)
    }
}
