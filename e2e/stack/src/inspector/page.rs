//! The pages of the inspector, with the list of logins.

use std::sync::Arc;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rocket::http::{ContentType, Header};
use rocket::{Responder, get};
use sha2::{Digest as _, Sha256};

use super::diagram;
use super::rows::Note;
use super::sequence_view::{Sequence, SequenceView, other_events, planned, project_name};
use super::tools::Tools;
use crate::event_log::LoggedEvent;
use crate::facts::meaning::{Outcome, meaning};
use crate::facts::{self, LoginFlow, Style};
use crate::faults::HeldCall;
use crate::labels;
use crate::login_status::{self, LoginStatus};
use crate::page::{PageHeader, PageResponse, found, html};
use crate::request::{ControlError, Runtime};
use crate::runtime::{ServerUrls, StackRuntime};

#[derive(Template)]
#[template(path = "inspector.html")]
struct InspectorPage<'a> {
    header: PageHeader,
    urls: &'a ServerUrls,
    /// The sequence number of the last event on the page.
    seq: u64,
    tools: Tools,
    entries: Vec<LoginEntry>,
    /// The events of problems that belong to no login.
    others: Vec<Arc<LoggedEvent>>,
    chosen: Option<SequenceView>,
    /// The calls that a fault holds.
    held: Vec<HeldCall>,
    /// Whether the page always shows the newest login.
    follows: bool,
}

/// The subject of a page.
enum Subject<'a> {
    Newest,
    Login(&'a str),
    Others,
}

/// The login with the latest event; the other requests, if one of them is later.
#[get("/?<call>")]
pub(super) async fn newest(call: Option<&str>, runtime: &Runtime) -> PageResponse {
    render(runtime, &Subject::Newest, call).await
}

#[get("/logins/<login>?<call>")]
pub(super) async fn login(login: &str, call: Option<&str>, runtime: &Runtime) -> PageResponse {
    render(runtime, &Subject::Login(login), call).await
}

#[get("/others?<call>")]
pub(super) async fn others(call: Option<&str>, runtime: &Runtime) -> PageResponse {
    render(runtime, &Subject::Others, call).await
}

/// A diagram as a file, with its own style and nothing to load.
#[derive(Responder)]
pub(super) struct DiagramFile {
    svg: String,
    content_type: ContentType,
    policy: Header<'static>,
}

#[get("/logins/<login>/diagram.svg")]
pub(super) async fn diagram_file(
    login: &str,
    runtime: &Runtime,
) -> Result<DiagramFile, ControlError> {
    let sequence = Sequence::of_login(runtime, login).await;
    let sequence =
        sequence.ok_or_else(|| ControlError::not_found("no event mentions this login"))?;
    // The policy admits the file's own style and no other.
    let style = STANDARD.encode(Sha256::digest(diagram::STYLE));
    let policy = format!("default-src 'none'; style-src 'sha256-{style}'");
    Ok(DiagramFile {
        svg: diagram::standalone(&sequence.rows, &sequence.participants),
        content_type: ContentType::SVG,
        policy: Header::new("Content-Security-Policy", policy),
    })
}

async fn render(runtime: &StackRuntime, subject: &Subject<'_>, call: Option<&str>) -> PageResponse {
    let entries = logins(runtime).await;
    let others = other_events(runtime);
    let last_other = others.last().map_or(0, |event| event.seq);
    let chosen = match subject {
        Subject::Newest => match entries.first() {
            Some(it) if it.seq > last_other => Sequence::of_login(runtime, &it.login).await,
            None if others.is_empty() => None,
            _ => Some(Sequence::of_others(runtime)),
        },
        Subject::Login(login) => Sequence::of_login(runtime, login).await,
        Subject::Others => Some(Sequence::of_others(runtime)),
    };
    let chosen = chosen.map(|sequence| sequence.view(runtime, call));
    let is_unknown = matches!(subject, Subject::Login(_)) && chosen.is_none();
    let last = runtime.event_log().events(0, None).pop();
    let page = InspectorPage {
        header: PageHeader::new(runtime),
        urls: &runtime.urls,
        seq: last.map_or(0, |event| event.seq),
        tools: Tools::new(runtime),
        entries,
        others,
        chosen,
        held: runtime.faults().held(),
        follows: matches!(subject, Subject::Newest),
    };
    (found(!is_unknown), html(&page))
}

impl InspectorPage<'_> {
    /// The number of refused requests without a login.
    fn refused(&self) -> usize {
        let others = self.others.iter();
        others.filter(|event| event.rule.is_some()).count()
    }

    fn is_chosen(&self, login: &str) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.and_then(|it| it.sequence.login.as_deref()) == Some(login)
    }
}

/// The number of logins in the list.
const MAX_LOGINS: usize = 60;

/// One login in the list.
struct LoginEntry {
    login: String,
    project: String,
    /// `Google · clean`.
    way: String,
    at: String,
    /// The sequence number of its last event.
    seq: u64,
    end: End,
    /// The style and short text of the last refusal, fault or planned misbehaviour.
    problem: Option<(Style, String)>,
    is_legacy: bool,
}

/// The progress of a login.
enum End {
    /// The app knows the user, who has this name.
    SignedIn(String),
    /// The login failed, in words, by this error.
    Failed(&'static str, String),
    /// It expires at this time, in Unix milliseconds, and this much time is left.
    Pending(i64, String),
    /// Another state of the store.
    State(&'static str),
}

/// The latest logins, newest first.
async fn logins(runtime: &StackRuntime) -> Vec<LoginEntry> {
    let event_log = runtime.event_log();
    let planned = planned(runtime);
    let mut entries = Vec::new();
    for login in event_log.logins(MAX_LOGINS) {
        let events = event_log.events(0, Some(&login));
        if let Some(status) = login_status::of(runtime, &login).await {
            let planned = planned
                .get(&login)
                .map(|(_, it)| format!("⚡ {}", it.name()));
            let planned = planned.map(|it| (Style::Faulted, it));
            let entry = LoginEntry::new(runtime, status, &events);
            entries.push(LoginEntry {
                problem: planned.or(entry.problem),
                ..entry
            });
        }
    }
    entries
}

impl LoginEntry {
    fn new(runtime: &StackRuntime, status: LoginStatus, events: &[Arc<LoggedEvent>]) -> Self {
        let latest = events.last();
        let is_legacy = status.flow == Some(LoginFlow::Legacy);
        let way = if is_legacy { "legacy" } else { "clean" };
        Self {
            project: project_name(runtime, status.project.as_deref()),
            way: format!("{} · {way}", labels::provider(status.provider)),
            at: latest.map_or_else(String::new, |event| labels::time_of_day(event.at)),
            seq: latest.map_or(0, |event| event.seq),
            end: End::of(runtime, &status, events),
            problem: events.iter().rev().find_map(|event| Note::short(event)),
            login: status.login,
            is_legacy,
        }
    }

    /// Whether nothing came of the login but a refusal.
    fn is_refused(&self) -> bool {
        let is_refusal = matches!(self.problem, Some((Style::Refused, _)));
        is_refusal && matches!(self.end, End::State(_))
    }

    fn is_faulted(&self) -> bool {
        matches!(self.problem, Some((Style::Faulted, _)))
    }
}

impl End {
    fn of(runtime: &StackRuntime, status: &LoginStatus, events: &[Arc<LoggedEvent>]) -> Self {
        // A fault has an event of its own; what it kept from the app is none the less stored.
        let reported = events.iter().rev().find_map(|event| {
            let meaning = meaning(event, runtime.event_log());
            Some(match meaning.outcome()? {
                Outcome::SignedIn(user) => Self::SignedIn(user.to_owned()),
                Outcome::Failed(error) => Self::failed(status, error),
            })
        });
        let error = || events.iter().rev().find_map(|event| facts::error_of(event));
        let expires_at = status.expires_at;
        reported
            .or_else(|| error().map(|error| Self::failed(status, error)))
            .or_else(|| {
                let at = expires_at?;
                let left_ms = at - runtime.clock.now_ms();
                Some(Self::Pending(at, labels::minutes(left_ms)))
            })
            .unwrap_or_else(|| Self::State(labels::state(status.state)))
    }

    fn failed(status: &LoginStatus, error: &str) -> Self {
        let words = labels::failure(error, status.provider);
        Self::Failed(words, error.to_owned())
    }
}
