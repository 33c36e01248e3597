//! The sequence of one login, as a diagram and as text.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::diagram::{self, Links, Participants};
use super::exchange_view::ExchangeView;
use super::rows::{Note, Row};
use super::sequence;
use crate::event_log::LoggedEvent;
use crate::facts::Answers;
use crate::labels;
use crate::login_status::{self, LoginStatus};
use crate::runtime::StackRuntime;

/// The number of events without a login that are shown.
const MAX_OTHER_EVENTS: usize = 60;

/// The number of events of one login that are shown.
const MAX_LOGIN_EVENTS: usize = 100;

/// The path of the calls that belong to no login.
const OTHERS_PATH: &str = "/others";

/// The sequence of one login, or of the calls without one.
pub(crate) struct SequenceView {
    pub(crate) path: String,
    /// `None` for the calls without a login.
    pub(crate) login: Option<String>,
    pub(crate) title: String,
    pub(crate) state: Option<&'static str>,
    pub(crate) diagram: String,
    pub(crate) steps: Vec<TextStep>,
    /// The open exchange.
    pub(crate) exchange: Option<ExchangeView>,
}

/// A row of the sequence as text.
pub(crate) struct TextStep {
    pub(crate) class: &'static str,
    pub(crate) text: String,
    pub(crate) link: Option<String>,
    pub(crate) is_chosen: bool,
    pub(crate) note: Option<Note>,
}

/// The flow and the provider of a login: `Clean callback with Google`.
pub(super) fn title(status: &LoginStatus) -> String {
    let flow = labels::flow(status.flow);
    match status.provider {
        Some(provider) => format!("{flow} with {}", labels::provider(Some(provider))),
        None => flow.to_owned(),
    }
}

/// The sequence of one login, with the exchange `call` open; `None` if no event mentions
/// the login.
pub(crate) async fn login(
    runtime: &StackRuntime,
    login: &str,
    call: Option<&str>,
) -> Option<SequenceView> {
    let status = login_status::of(runtime, login).await?;
    let source = SequenceSource {
        path: format!("/logins/{login}"),
        participants: participants(runtime, &status),
        call,
    };
    Some(SequenceView {
        login: Some(login.to_owned()),
        title: title(&status),
        state: Some(labels::state(status.state)),
        ..source.view(runtime, &login_events(runtime, login))
    })
}

/// The calls that belong to no login.
pub(crate) fn others(runtime: &StackRuntime, call: Option<&str>) -> SequenceView {
    let source = SequenceSource {
        path: OTHERS_PATH.to_owned(),
        participants: of_stack(runtime, "any project".to_owned(), None),
        call,
    };
    source.view(runtime, &other_events(runtime))
}

/// The rows of one login, with the names on its lifelines.
pub(crate) struct LoginRows {
    pub(crate) title: String,
    pub(crate) events: Vec<Arc<LoggedEvent>>,
    pub(crate) rows: Vec<Row>,
    pub(crate) participants: Participants,
}

/// The rows of one login; `None` if no event mentions it.
pub(crate) async fn login_rows(runtime: &StackRuntime, login: &str) -> Option<LoginRows> {
    let status = login_status::of(runtime, login).await?;
    let shown = login_events(runtime, login);
    Some(LoginRows {
        title: title(&status),
        rows: shown.rows(runtime),
        events: shown.events,
        participants: participants(runtime, &status),
    })
}

/// The diagram of one login as a file of its own.
pub(crate) async fn standalone_diagram(runtime: &StackRuntime, login: &str) -> Option<String> {
    let LoginRows {
        rows, participants, ..
    } = login_rows(runtime, login).await?;
    Some(diagram::standalone(&rows, &participants))
}

fn participants(runtime: &StackRuntime, status: &LoginStatus) -> Participants {
    of_stack(
        runtime,
        project_name(runtime, status.project.as_deref()),
        status.provider,
    )
}

fn of_stack(
    runtime: &StackRuntime,
    consumer: String,
    provider: Option<&'static str>,
) -> Participants {
    let host = |url: &str| {
        url.split_once("://")
            .map_or(url, |(_, host)| host)
            .to_owned()
    };
    Participants {
        consumer,
        provider,
        broker_host: host(&runtime.urls.broker),
        provider_host: match provider {
            Some("google") => host(&runtime.urls.google),
            Some(_) => host(&runtime.urls.github),
            None => "not known yet".to_owned(),
        },
    }
}

/// The name of a project, or the `client_id` of an unknown one.
pub(super) fn project_name(runtime: &StackRuntime, client_id: Option<&str>) -> String {
    let Some(client_id) = client_id else {
        return "not recognised".to_owned();
    };
    let projects = runtime.projects.list();
    let project = projects
        .iter()
        .find(|it| it.client_id.as_str() == client_id);
    project.map_or(client_id, |it| it.name.as_str()).to_owned()
}

/// The latest events of a sequence, and the number of older ones that are not shown.
struct ShownEvents {
    events: Vec<Arc<LoggedEvent>>,
    omitted: usize,
}

fn login_events(runtime: &StackRuntime, login: &str) -> ShownEvents {
    let events = runtime.event_log().events(0, Some(login));
    ShownEvents::latest(events, MAX_LOGIN_EVENTS)
}

/// Refusals, faults and resends without a login. Health checks, for example, are left out.
fn other_events(runtime: &StackRuntime) -> ShownEvents {
    let mut events = runtime.event_log().events(0, None);
    events.retain(|event| {
        let has_problem = event.rule.is_some() || event.fault.is_some() || event.resend;
        event.login.is_none() && has_problem
    });
    ShownEvents::latest(events, MAX_OTHER_EVENTS)
}

impl ShownEvents {
    fn latest(mut events: Vec<Arc<LoggedEvent>>, limit: usize) -> Self {
        let omitted = events.len().saturating_sub(limit);
        events.drain(..omitted);
        Self { events, omitted }
    }

    fn rows(&self, runtime: &StackRuntime) -> Vec<Row> {
        let mut rows = sequence::rows(&self.events, runtime, runtime.clock.now_ms());
        if self.omitted > 0 {
            let text = format!("{} older events are left out", self.omitted);
            rows.insert(0, Row::Pause(text));
        }
        rows
    }
}

impl Answers for StackRuntime {
    fn leads_to_provider(&self, request_id: &str) -> Option<bool> {
        let location = self.event_log().location(request_id)?;
        let mut providers = [&self.urls.google, &self.urls.github].into_iter();
        Some(providers.any(|url| location.starts_with(url)))
    }

    fn body(&self, request_id: &str) -> Option<Value> {
        self.event_log().answer_body(request_id)
    }

    fn is_held(&self, request_id: &str) -> bool {
        let held = self.faults().held();
        held.iter().any(|call| call.request_id == request_id)
    }

    fn took(&self, request_id: &str) -> Option<Duration> {
        self.event_log().took(request_id)
    }
}

struct SequenceSource<'a> {
    path: String,
    participants: Participants,
    /// The id of the exchange to open.
    call: Option<&'a str>,
}

impl SequenceSource<'_> {
    fn view(self, runtime: &StackRuntime, shown: &ShownEvents) -> SequenceView {
        let rows = shown.rows(runtime);
        let links = Links {
            path: &self.path,
            chosen: self.call,
        };
        let exchange = self
            .call
            .and_then(|call| ExchangeView::new(runtime, call, &shown.events));
        SequenceView {
            login: None,
            title: "Other requests".to_owned(),
            state: None,
            diagram: diagram::in_page(&rows, &self.participants, &links),
            steps: rows.iter().map(|row| self.step(row, &links)).collect(),
            exchange,
            path: self.path.clone(),
        }
    }

    fn step(&self, row: &Row, links: &Links<'_>) -> TextStep {
        let text = self.participants.describe(row);
        match row {
            Row::Arrow(arrow) => {
                let exchange = arrow.exchange.as_deref();
                TextStep {
                    link: exchange.map(|id| links.to(id)),
                    is_chosen: exchange.is_some_and(|id| links.is_chosen(id)),
                    ..TextStep::plain(arrow.style.class(), text)
                }
            }
            Row::Committed(_) => TextStep::plain("committed", text),
            Row::Pause(_) => TextStep::plain("pause", text),
            Row::Expiry(_) => TextStep::plain("expiry", text),
            Row::Note(note) => TextStep {
                note: Some(note.clone()),
                ..TextStep::plain(note.style.class(), text)
            },
        }
    }
}

impl TextStep {
    fn plain(class: &'static str, text: String) -> Self {
        Self {
            class,
            text,
            link: None,
            is_chosen: false,
            note: None,
        }
    }
}
