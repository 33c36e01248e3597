//! The list of logins: an entry for each.

use std::sync::Arc;

use super::rows::Note;
use super::sequence_view::{project_name, title};
use crate::event_log::LoggedEvent;
use crate::facts::Style;
use crate::facts::meaning::{Outcome, meaning};
use crate::labels;
use crate::login_status::{self, LoginStatus};
use crate::runtime::StackRuntime;

/// The number of logins in the list.
const MAX_LOGINS: usize = 40;

/// One login in the list.
pub(crate) struct LoginEntry {
    pub(crate) login: String,
    pub(crate) project: String,
    pub(crate) title: String,
    pub(crate) state: &'static str,
    pub(crate) at: String,
    /// The style and text of the outcome, once the app has learnt it.
    pub(crate) outcome: Option<(Style, String)>,
    /// The time at which a pending login expires, in Unix milliseconds, and the time that is
    /// left.
    pub(crate) expires: Option<(i64, String)>,
    /// The style and short text of the last refusal or fault.
    pub(crate) problem: Option<(Style, String)>,
}

/// The latest logins, newest first.
pub(crate) async fn list(runtime: &StackRuntime) -> Vec<LoginEntry> {
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

/// The outcome that the answer of `event` told the app, as a badge.
fn outcome(runtime: &StackRuntime, event: &LoggedEvent) -> Option<(Style, String)> {
    // A fault has an event of its own; what it kept from the app is none the less stored.
    match meaning(event, runtime.event_log()).outcome()? {
        Outcome::SignedIn(user) => Some((Style::Succeeded, format!("✓ {user}"))),
        Outcome::Failed(error) => Some((Style::Refused, format!("✕ {error}"))),
    }
}
