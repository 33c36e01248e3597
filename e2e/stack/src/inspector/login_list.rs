//! The list of logins: an entry for each.

use std::sync::Arc;

use super::labels;
use super::sequence::{Note, Style};
use super::sequence_view::{project_name, title};
use crate::event_log::LoggedEvent;
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
        at: latest.map_or_else(String::new, |event| labels::time_of_day(event.at)),
        problem: events.iter().rev().find_map(|event| Note::short(event)),
        login: status.login,
    }
}
