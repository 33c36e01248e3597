//! The pages of the inspector, with the list of logins.

use std::sync::Arc;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rocket::http::{ContentType, Header};
use rocket::{Responder, get};
use sha2::{Digest as _, Sha256};

use super::diagram;
use super::rows::{Note, Row};
use super::sequence_view::{Sequence, SequenceView, project_name, title};
use super::tools::Tools;
use crate::event_log::LoggedEvent;
use crate::facts::Style;
use crate::facts::meaning::{Outcome, meaning};
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
    /// The number of problems that belong to no login.
    others: usize,
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

/// The login with the latest event.
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
    let others = Sequence::of_others(runtime);
    let others_count = others
        .rows
        .iter()
        .filter(|it| matches!(it, Row::Note(_)))
        .count();
    let chosen = match subject {
        Subject::Newest => match entries.first() {
            Some(newest) => Sequence::of_login(runtime, &newest.login).await,
            None => None,
        },
        Subject::Login(login) => Sequence::of_login(runtime, login).await,
        Subject::Others => Some(others),
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
        others: others_count,
        chosen,
        held: runtime.faults().held(),
        follows: matches!(subject, Subject::Newest),
    };
    (found(!is_unknown), html(&page))
}

impl InspectorPage<'_> {
    /// Whether this is the page of the calls without a login, and there is none.
    fn has_no_others(&self) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.is_some_and(|it| it.sequence.login.is_none() && it.steps.is_empty())
    }

    fn is_chosen(&self, login: &str) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.and_then(|it| it.sequence.login.as_deref()) == Some(login)
    }
}

/// The number of logins in the list.
const MAX_LOGINS: usize = 40;

/// One login in the list.
struct LoginEntry {
    login: String,
    project: String,
    title: String,
    state: &'static str,
    at: String,
    /// The style and text of the outcome, once the app has learnt it.
    outcome: Option<(Style, String)>,
    /// The time at which a pending login expires, in Unix milliseconds, and the time that is
    /// left.
    expires: Option<(i64, String)>,
    /// The style and short text of the last refusal or fault.
    problem: Option<(Style, String)>,
}

/// The latest logins, newest first.
async fn logins(runtime: &StackRuntime) -> Vec<LoginEntry> {
    let event_log = runtime.event_log();
    let mut entries = Vec::new();
    for login in event_log.logins(MAX_LOGINS) {
        let events = event_log.events(0, Some(&login));
        if let Some(status) = login_status::of(runtime, &login).await {
            entries.push(entry(runtime, status, &events));
        }
    }
    entries
}

fn entry(runtime: &StackRuntime, status: LoginStatus, events: &[Arc<LoggedEvent>]) -> LoginEntry {
    let latest = events.last();
    LoginEntry {
        project: project_name(runtime, status.project.as_deref()),
        title: title(&status),
        state: labels::state(status.state),
        outcome: events
            .iter()
            .rev()
            .find_map(|event| outcome(runtime, event)),
        expires: status.expires_at.map(|at| {
            let left_ms = at - runtime.clock.now_ms();
            (at, labels::minutes(left_ms))
        }),
        at: latest.map_or_else(String::new, |event| labels::time_of_day(event.at)),
        problem: events.iter().rev().find_map(|event| Note::short(event)),
        login: status.login,
    }
}

/// The outcome that the answer of `event` gave to the app, as a badge.
fn outcome(runtime: &StackRuntime, event: &LoggedEvent) -> Option<(Style, String)> {
    // A fault has an event of its own; what it kept from the app is none the less stored.
    match meaning(event, runtime.event_log()).outcome()? {
        Outcome::SignedIn(user) => Some((Style::Succeeded, format!("✓ {user}"))),
        Outcome::Failed(error) => Some((Style::Refused, format!("✕ {error}"))),
    }
}
