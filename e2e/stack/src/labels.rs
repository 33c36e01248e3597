//! Texts for times, statuses, steps and states, and words of a shell.

use broker::audit::Step;
use hyper::StatusCode;
use rocket::time::OffsetDateTime;

use crate::facts::LoginFlow;
use crate::login_status::LoginState;

/// A duration in its two largest units: `8 minutes`, `1 hour 5 minutes`.
pub(crate) fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    let units = [
        ("day", 86_400),
        ("hour", 3_600),
        ("minute", 60),
        ("second", 1),
    ];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (unit, length) in units {
        let count = rest / length;
        rest %= length;
        if count > 0 && parts.len() < 2 {
            let plural = if count == 1 { "" } else { "s" };
            parts.push(format!("{count} {unit}{plural}"));
        }
    }
    if parts.is_empty() {
        return "0 seconds".to_owned();
    }
    parts.join(" ")
}

/// The minutes and seconds of a countdown: `8:05`.
pub(crate) fn minutes(ms: i64) -> String {
    let seconds = (ms / 1000).max(0);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The time of day in UTC: `14:03:07`.
pub(crate) fn time_of_day(at_ms: i64) -> String {
    let (hour, minute, second) = moment(at_ms).to_hms();
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// The date in UTC: `2026-11-21`.
pub(crate) fn date(at_ms: i64) -> String {
    moment(at_ms).date().to_string()
}

fn moment(at_ms: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1000))
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// A status with its reason: `200 OK`.
pub(crate) fn status(code: u16) -> String {
    let reason = StatusCode::from_u16(code)
        .ok()
        .and_then(|status| status.canonical_reason());
    match reason {
        Some(reason) => format!("{code} {reason}"),
        None => code.to_string(),
    }
}

/// The meaning of a committed step.
pub(crate) fn step(name: &str) -> &'static str {
    known_step(name).map_or("Something was committed.", |step| step.meaning())
}

fn known_step(name: &str) -> Option<&'static Step> {
    Step::ALL.iter().find(|step| step.name() == name)
}

/// A committed step in a few words, for the diagram.
fn step_in_short(name: &str) -> &'static str {
    match known_step(name) {
        Some(Step::Opened) => "login pending",
        Some(Step::Bound) => "login bound to this browser",
        Some(Step::UpstreamLoginConsumed) => "provider’s answer used",
        Some(Step::Completed) => "outcome known",
        Some(Step::ResultConsumed) => "result read",
        Some(Step::CodeIssued) => "code issued",
        Some(Step::CodeRedeemed) => "code redeemed",
        Some(Step::TokenRevoked) => "token revoked",
        None => "something",
    }
}

/// The steps in a few words each.
pub(crate) fn steps_in_short(names: &[&str]) -> String {
    let steps: Vec<_> = names.iter().map(|name| step_in_short(name)).collect();
    steps.join(", ")
}

/// The source of a rule, as `Source` writes it, in words.
pub(crate) fn source(law: &str) -> String {
    match law.strip_prefix("SPEC ") {
        Some(section) => format!("the specification, “{section}”"),
        None => "our decision, where the specification is silent".to_owned(),
    }
}

/// The text as a sentence, with a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    let end = if text.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("{first}{}{end}", letters.as_str())
}

/// The state of a login.
pub(crate) fn state(state: LoginState) -> &'static str {
    match state {
        LoginState::None => "rejected, nothing stored",
        LoginState::Pending => "waiting for the user",
        LoginState::Succeeded => "result ready to be read",
        LoginState::Failed => "failed",
        LoginState::Consumed => "result read",
        LoginState::CodeIssued => "code ready to be redeemed",
        LoginState::Redeemed => "code redeemed",
        LoginState::Ended => "token revoked",
        LoginState::Expired => "expired",
    }
}

/// A failed login in a few words, by its error.
pub(crate) fn failure(error: &str, provider: Option<&str>) -> &'static str {
    let is_github = provider == Some("github");
    match (error, is_github) {
        ("access_denied", _) => "cancelled",
        ("invalid_provider_response", true) => "GitHub’s answer invalid",
        ("invalid_provider_response", false) => "Google’s answer invalid",
        (_, true) => "GitHub unavailable",
        (_, false) => "Google unavailable",
    }
}

/// The name of a flow.
pub(crate) fn flow(flow: Option<LoginFlow>) -> &'static str {
    match flow {
        Some(LoginFlow::Clean) => "Clean callback",
        Some(LoginFlow::Legacy) => "Browser authorization",
        None => "A login",
    }
}

/// The name of a provider.
pub(crate) fn provider(name: Option<&str>) -> &'static str {
    match name {
        Some("google") => "Google",
        Some("github") => "GitHub",
        _ => "Provider",
    }
}

/// `text` as one word that a shell takes as it is: in single quotes, where a POSIX shell
/// reads nothing, not even its history. A single quote stands outside of them, escaped, and
/// so does a backslash, which fish reads within them.
pub(crate) fn quoted(text: &str) -> String {
    let escape = |character| match character {
        '\'' | '\\' => format!("'\\{character}'"),
        other => other.to_string(),
    };
    format!("'{}'", text.chars().map(escape).collect::<String>())
}

/// The same, as it is where a shell reads nothing in it.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_its_two_largest_units() {
        for (ms, expected) in [
            (0, "0 seconds"),
            (999, "0 seconds"),
            (1_000, "1 second"),
            (600_000, "10 minutes"),
            (3_661_000, "1 hour 1 minute"),
            (90_061_000, "1 day 1 hour"),
        ] {
            assert_eq!(duration(ms), expected);
        }
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(time_of_day(1_795_272_330_029), "14:45:30");
        assert_eq!(date(1_795_272_330_029), "2026-11-21");
    }
}
