//! The sequence of one login, or of the calls without one, as a diagram and as text.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mock_upstream::Provider;
use serde_json::Value;

use super::diagram::{self, Links, Participants};
use super::exchange_view::ExchangeView;
use super::rows::{Note, Row};
use super::sequence;
use super::verdict::verdict;
use crate::compared::{Compared, compared};
use crate::event_log::LoggedEvent;
use crate::facts::meaning::{Answers, Planned};
use crate::labels;
use crate::login_status::{self, LoginStatus};
use crate::runtime::{StackRuntime, UpstreamUrls};

/// The sequence of one login, or of the calls without one.
pub(crate) struct Sequence {
    pub(crate) path: String,
    /// `None` for the calls without a login.
    pub(crate) login: Option<String>,
    pub(crate) title: String,
    pub(crate) state: Option<&'static str>,
    pub(crate) events: Vec<Arc<LoggedEvent>>,
    pub(crate) rows: Vec<Row>,
    pub(crate) participants: Participants,
}

/// A sequence as a page shows it.
pub(crate) struct SequenceView {
    pub(crate) sequence: Sequence,
    pub(crate) diagram: String,
    pub(crate) steps: Vec<TextStep>,
    /// The open exchange.
    pub(crate) exchange: Option<ExchangeView>,
}

impl SequenceView {
    /// The lines of the verdict, each with the id of its arrow.
    pub(crate) fn verdict(&self) -> Vec<(Note, &str)> {
        verdict(&self.sequence.rows)
    }
}

/// A row of the sequence as text.
pub(crate) struct TextStep {
    pub(crate) class: &'static str,
    /// The number of its arrow.
    pub(crate) number: Option<usize>,
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

impl Sequence {
    /// The sequence of one login; `None` if no event mentions it.
    pub(crate) async fn of_login(runtime: &StackRuntime, login: &str) -> Option<Self> {
        let status = login_status::of(runtime, login).await?;
        let events = runtime.event_log().events(0, Some(login));
        let rows = sequence::rows(&events, runtime, runtime.clock.now_ms());
        let consumer = project_name(runtime, status.project.as_deref());
        Some(Self {
            path: format!("/logins/{login}"),
            login: Some(login.to_owned()),
            title: title(&status),
            state: Some(labels::state(status.state)),
            events,
            rows,
            participants: Participants::of(runtime, &consumer, status.provider),
        })
    }

    /// The calls that belong to no login.
    pub(crate) fn of_others(runtime: &StackRuntime) -> Self {
        let events = other_events(runtime);
        let rows = sequence::rows(&events, runtime, runtime.clock.now_ms());
        Self {
            path: "/others".to_owned(),
            login: None,
            title: "Other requests".to_owned(),
            state: None,
            events,
            rows,
            participants: Participants::of(runtime, "any project", None),
        }
    }

    /// The view of a page with the exchange `call` open.
    pub(crate) fn view(self, runtime: &StackRuntime, call: Option<&str>) -> SequenceView {
        let links = Links {
            path: &self.path,
            chosen: call,
        };
        let mut arrows = 0;
        let numbered = self.rows.iter().map(|row| {
            let is_arrow = matches!(row, Row::Arrow(_));
            arrows += usize::from(is_arrow);
            TextStep {
                number: is_arrow.then_some(arrows),
                ..self.step(row, &links)
            }
        });
        SequenceView {
            steps: numbered.collect(),
            diagram: diagram::in_page(&self.rows, &self.participants, &links),
            exchange: call.and_then(|call| ExchangeView::new(runtime, call, &self.events)),
            sequence: self,
        }
    }

    fn step(&self, row: &Row, links: &Links<'_>) -> TextStep {
        let plain = |class| TextStep {
            class,
            number: None,
            text: self.participants.describe(row),
            link: None,
            is_chosen: false,
            note: None,
        };
        match row {
            Row::Arrow(arrow) => {
                let exchange = arrow.exchange.as_deref();
                TextStep {
                    link: exchange.map(|id| links.to(id)),
                    is_chosen: exchange.is_some_and(|id| links.is_chosen(id)),
                    ..plain(arrow.style.class())
                }
            }
            Row::Committed(_) => plain("committed"),
            Row::Pause(_) => plain("pause"),
            Row::Expiry(_) => plain("expiry"),
            Row::Note(note) => TextStep {
                note: Some(note.clone()),
                ..plain(note.style.class())
            },
        }
    }
}

/// The events that belong to no login: refusals, faults and resends. Health checks, for example,
/// are left out.
pub(super) fn other_events(runtime: &StackRuntime) -> Vec<Arc<LoggedEvent>> {
    let mut events = runtime.event_log().events(0, None);
    events.retain(|event| {
        let has_problem = event.rule.is_some() || event.fault.is_some() || event.resend;
        event.login.is_none() && has_problem
    });
    events
}

/// The planned misbehaviours of the providers, by login.
pub(super) fn planned(runtime: &StackRuntime) -> HashMap<String, Planned> {
    let secrets = runtime.event_log().secrets();
    let all = Provider::ALL.into_iter().flat_map(|provider| {
        let misbehaved = runtime.upstream.provider(provider).misbehaved();
        misbehaved.into_iter().filter_map(move |(state, it)| {
            let login = secrets.owner_of(&state)?.login?;
            Some((login.as_str().to_owned(), (provider, it)))
        })
    });
    all.collect()
}

impl Participants {
    /// Those of a login at `consumer`.
    pub(crate) fn of(
        runtime: &StackRuntime,
        consumer: &str,
        provider: Option<&'static str>,
    ) -> Self {
        let host = |url: &str| {
            url.split_once("://")
                .map_or(url, |(_, host)| host)
                .to_owned()
        };
        Self {
            consumer: consumer.to_owned(),
            provider,
            broker_host: host(&runtime.urls.broker),
            provider_host: match provider {
                Some("google") => host(&runtime.urls.upstreams.google),
                Some(_) => host(&runtime.urls.upstreams.github),
                None => "not known yet".to_owned(),
            },
        }
    }
}

impl Answers for StackRuntime {
    fn body(&self, request_id: &str) -> Option<Value> {
        self.event_log().answer_body(request_id)
    }

    fn leads_to_provider(&self, request_id: &str) -> Option<bool> {
        let location = self.event_log().location(request_id)?;
        let UpstreamUrls { google, github } = &self.urls.upstreams;
        Some(location.starts_with(google) || location.starts_with(github))
    }

    fn is_held(&self, request_id: &str) -> bool {
        let held = self.faults().held();
        held.iter().any(|call| call.request_id == request_id)
    }

    fn took(&self, request_id: &str) -> Option<Duration> {
        self.event_log().took(request_id)
    }

    fn planned(&self, login: &str) -> Option<Planned> {
        planned(self).remove(login)
    }

    fn compared(&self, event: &LoggedEvent) -> Vec<Compared> {
        compared(event, self.event_log(), &self.projects.list())
    }
}
