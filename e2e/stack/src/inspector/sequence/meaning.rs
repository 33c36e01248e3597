//! The meaning of an answer of the broker: the state of its login, the user or the error.

use serde_json::Value;

use super::row::Style;
use crate::event_log::LoggedEvent;
use crate::inspector::labels;

/// The meaning of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) label: String,
    /// A second line: the name of the user, or of an error.
    pub(crate) detail: Option<String>,
    pub(crate) style: Style,
}

/// The end of a login, as its app learns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The user with this name, or another text that identifies them, signed in.
    SignedIn(String),
    /// The login failed with this error.
    Failed(String),
}

/// The meaning of the answer that `event` is about, with the JSON `body` if it is kept.
pub(super) fn of(event: &LoggedEvent, body: Option<&Value>) -> Meaning {
    let status = event.status.unwrap_or_default();
    if event.is_question() {
        return Meaning::plain(format!("{status} confirmation page")).with(Style::Asked);
    }
    let plain = || Meaning::plain(event.status.map(labels::status).unwrap_or_default());
    let (Some(200), Some(body)) = (event.status, body) else {
        return plain();
    };
    match (event.operation.as_str(), outcome(event, Some(body))) {
        (_, Some(Outcome::SignedIn(user))) => {
            let what = match event.operation.as_str() {
                "GET /v1/profile" => "profile",
                _ => "succeeded",
            };
            Meaning::detailed(format!("{status} {what}"), user).with(Style::Succeeded)
        }
        (_, Some(Outcome::Failed(error))) => {
            Meaning::detailed(format!("{status} failed"), error).with(Style::Refused)
        }
        ("POST /v1/login/result", None) => Meaning::plain(format!("{status} pending")),
        ("POST /v1/login/session", None) => lifetime(status, "authorization_url", body),
        ("POST /v1/token", None) => lifetime(status, "access_token", body),
        ("POST /v1/revoke", None) => Meaning::plain(format!("{status} token revoked")),
        _ => plain(),
    }
}

/// The outcome that the answer of `event` tells the app; `None` if it tells none.
pub(crate) fn outcome(event: &LoggedEvent, body: Option<&Value>) -> Option<Outcome> {
    let body = body.filter(|_| event.status == Some(200))?;
    match event.operation.as_str() {
        "POST /v1/login/result" => match body["status"].as_str()? {
            "succeeded" => Some(Outcome::SignedIn(user(&body["profile"]))),
            "failed" => Some(Outcome::Failed(body["error"].as_str()?.to_owned())),
            _ => None,
        },
        "GET /v1/profile" => Some(Outcome::SignedIn(user(body))),
        _ => None,
    }
}

/// The text by which a reader knows the user of a profile. Only the subject is never null.
fn user(profile: &Value) -> String {
    let fields = ["name", "username", "email", "providerSubject"];
    let known = fields.into_iter().find_map(|field| profile[field].as_str());
    known.unwrap_or("a user").to_owned()
}

fn lifetime(status: u16, what: &str, body: &Value) -> Meaning {
    let label = format!("{status} {what}");
    match body["expires_in"].as_u64() {
        Some(seconds) => Meaning::detailed(label, format!("valid for {seconds} s")),
        None => Meaning::plain(label),
    }
}

impl Meaning {
    fn plain(label: String) -> Self {
        Self {
            label,
            detail: None,
            style: Style::Plain,
        }
    }

    fn detailed(label: String, detail: String) -> Self {
        Self {
            detail: Some(detail),
            ..Self::plain(label)
        }
    }

    fn with(self, style: Style) -> Self {
        Self { style, ..self }
    }
}
