//! The redirects of browsers: their targets, and the labels of the arrows.

use crate::event_log::LoggedEvent;

/// The target of a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectTarget {
    Provider,
    /// The consumer's callback.
    Callback,
}

/// The target that follows from the event alone; `None` if the browser is not redirected.
pub(super) fn guess(event: &LoggedEvent) -> Option<RedirectTarget> {
    if event.from != "browser" || event.status != Some(303) {
        return None;
    }
    let is_end = event.is_return() || event.rule.is_some();
    Some(match is_end {
        true => RedirectTarget::Callback,
        false => RedirectTarget::Provider,
    })
}

/// The label of an answer's arrow; `meaning` is that of an answer that is no redirect.
pub(super) fn answer_label(
    meaning: String,
    fault: Option<&str>,
    target: Option<RedirectTarget>,
) -> String {
    let status = match target {
        Some(RedirectTarget::Provider) => "303 to the provider".to_owned(),
        Some(RedirectTarget::Callback) => "303 back to the app".to_owned(),
        None => meaning,
    };
    match fault {
        None => status,
        Some("lose_response") => format!("{status}, lost"),
        Some("truncate") => format!("{status}, cut in half"),
        Some("html_502") => format!("a proxy's 502, not {status}"),
        Some("html_200") => format!("a foreign 200, not {status}"),
        Some("delay") => format!("{status}, late"),
        Some("silence") => format!("{status}, never sent"),
        Some("drip") => format!("{status}, byte by byte"),
        Some("endless") => format!("a 200 without an end, not {status}"),
        Some("answer") => format!("another answer, not {status}"),
        Some(other) => format!("{status}, {other}"),
    }
}

/// The label of the browser's request for the callback.
pub(super) fn callback_label(event: &LoggedEvent) -> &'static str {
    if !event.is_return() {
        "the callback"
    } else if event.steps.contains(&"code_issued") {
        "callback?code&state"
    } else if event.steps.contains(&"completed")
        || !event.steps.contains(&"upstream_login_consumed")
    {
        "callback, no parameters"
    } else {
        "callback?error&state"
    }
}
