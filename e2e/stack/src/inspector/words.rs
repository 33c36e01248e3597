//! What the inspector says, in plain words.

use hyper::StatusCode;
use rocket::time::OffsetDateTime;

use super::story::Destination;
use crate::logbook::Event;
use crate::truth::{Flow, State};

/// `8 minutes`, `1 hour 5 minutes`: as exact as people say it.
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

/// `14:03:07`, UTC.
pub(crate) fn time_of_day(at_ms: i64) -> String {
    let (hour, minute, second) = moment(at_ms).to_hms();
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// `2026-11-21`, UTC.
pub(crate) fn date(at_ms: i64) -> String {
    moment(at_ms).date().to_string()
}

fn moment(at_ms: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1000))
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// `200 OK`.
pub(crate) fn status(code: u16) -> String {
    let reason = StatusCode::from_u16(code)
        .ok()
        .and_then(|status| status.canonical_reason());
    match reason {
        Some(reason) => format!("{code} {reason}"),
        None => code.to_string(),
    }
}

/// What stands on the arrow of an answer.
pub(crate) fn answer(told: &Event, fault: Option<&str>, to: Option<Destination>) -> String {
    let status = told.status.map(status).unwrap_or_default();
    let status = match to {
        Some(Destination::Provider) => "303 to the provider".to_owned(),
        Some(Destination::Home) => "303 home".to_owned(),
        None => status,
    };
    match fault {
        None => status,
        Some("lose_response") => format!("{status}, lost"),
        Some("truncate") => format!("{status}, cut in half"),
        Some("html_502") => format!("a proxy's 502, not {status}"),
        Some("html_200") => format!("a stranger's 200, not {status}"),
        Some("delay") => format!("{status}, late"),
        Some(other) => format!("{status}, {other}"),
    }
}

/// What a browser takes home.
pub(crate) fn way_home(told: &Event) -> &'static str {
    if told.operation != "GET /callback/{provider}" {
        "the callback"
    } else if told.steps.contains(&"code_issued") {
        "callback?code=…&state=…"
    } else if told.steps.contains(&"completed") || !told.steps.contains(&"upstream_login_consumed")
    {
        "the callback, bare"
    } else {
        "callback?error=…&state=…"
    }
}

/// What a committed step means.
pub(crate) fn step(name: &str) -> &'static str {
    let known = broker::audit::Step::ALL;
    let step = known.iter().find(|step| step.name() == name);
    step.map_or("Something was committed.", |step| step.meaning())
}

/// `text` as a sentence of its own.
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

/// Where a login stands.
pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::None => "nothing is stored",
        State::Pending => "waits for the person",
        State::Succeeded => "a profile waits to be read",
        State::Failed => "failed",
        State::Consumed => "its result was read",
        State::CodeIssued => "a code waits to be redeemed",
        State::Redeemed => "its code was redeemed",
        State::Ended => "its token has ended",
        State::Expired => "its time is over",
    }
}

/// Which flow, to people.
pub(crate) fn flow(flow: Option<Flow>) -> &'static str {
    match flow {
        Some(Flow::Clean) => "Clean callback",
        Some(Flow::Legacy) => "Browser authorization",
        None => "A login",
    }
}

/// A provider's or a party's name, as people write it.
pub(crate) fn provider(name: Option<&str>) -> &'static str {
    match name {
        Some("google") => "Google",
        Some("github") => "GitHub",
        _ => "Provider",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_said_in_its_two_largest_units() {
        for (ms, said) in [
            (0, "0 seconds"),
            (999, "0 seconds"),
            (1_000, "1 second"),
            (600_000, "10 minutes"),
            (3_661_000, "1 hour 1 minute"),
            (90_061_000, "1 day 1 hour"),
        ] {
            assert_eq!(duration(ms), said);
        }
    }

    #[test]
    fn a_moment_is_said_in_utc() {
        assert_eq!(time_of_day(1_795_272_330_029), "14:45:30");
        assert_eq!(date(1_795_272_330_029), "2026-11-21");
    }

    #[test]
    fn every_step_has_a_meaning_of_its_own() {
        for known in broker::audit::Step::ALL {
            assert_eq!(step(known.name()), known.meaning());
        }
    }

    #[test]
    fn words_become_a_sentence() {
        assert_eq!(sentence("it was read"), "It was read.");
        assert_eq!(sentence("Really?"), "Really?");
    }
}
