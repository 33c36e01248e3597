//! The time at which a login expires, unless it ends before.

use std::sync::Arc;

use broker::audit::Step;
use contract::LoginLifetime;

use crate::event_log::LoggedEvent;
use crate::inspector::labels;
use crate::login_status;

/// The steps after which a login no longer expires: its outcome was read or redeemed.
const ENDS: [Step; 3] = [Step::ResultConsumed, Step::CodeIssued, Step::CodeRedeemed];

/// The deadline of one login.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// In Unix milliseconds.
    pub(super) at: i64,
}

impl Deadline {
    /// The deadline of the login that `events` are about; `None` if they are about no login,
    /// or it has no deadline any more.
    pub(super) fn of(events: &[Arc<LoggedEvent>]) -> Option<Self> {
        events.first()?.login.as_ref()?;
        let all: Vec<_> = events.iter().map(|event| &**event).collect();
        let at = login_status::begun_at(&all)? + LoginLifetime::MS;
        let ends = |event: &&&LoggedEvent| {
            let is_end = |step: &&str| ENDS.iter().any(|end| end.name() == *step);
            event.at <= at && event.steps.iter().any(is_end)
        };
        all.iter().find(ends).is_none().then_some(Self { at })
    }

    pub(super) fn text(self, is_over: bool) -> String {
        let time = labels::time_of_day(self.at);
        match is_over {
            true => format!("The login expired at {time}, 600 s after it began"),
            false => format!("The login expires at {time}, 600 s after it began"),
        }
    }
}
