//! The requests of the app in plain logins and after errors: as the broker judges them, and where
//! it takes more than the specification allows, as that has them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::failures::{calls_of, fail, with_fault};
use crate::calls::operation::{PROFILE, RESULT, REVOKE, SESSION, TOKEN};
use crate::calls::{self, Call};
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// The beginnings of the rules about the form of a request. The others are about the order of
/// requests, of which other checks speak.
const RULES_OF_FORM: &str = "request. body. client_ client.recognised client.in_body redirect_uri. session_key.pattern provider.known code.length grant_type. code_verifier.pattern bearer.shape bearer.header bearer.once";

/// `requests-valid`: a sign-in with its sign-out, a login that is cancelled, and logins in which
/// an answer cannot be read.
pub(super) async fn requests_valid(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    if trial.app.sign_out.is_some() {
        ada.sign_out().await?;
    }
    fail(&mut trial.user("browser B", "Ben"), "deny").await?;
    for operation in calls_of(trial.flow) {
        with_fault(trial, operation, "html_502", &Value::Null).await?;
    }

    let mut wrong = BTreeSet::new();
    for call in trial.calls(mark).await? {
        let exchange = trial.testbed.control.exchange(&call.request_id).await?;
        wrong.extend(wrong_in(&call, &exchange["request"]));
    }
    let wrong = Vec::from_iter(wrong).join("; ");
    require(wrong.is_empty(), || {
        format!("the app sends requests that are not valid: {wrong}")
    })
}

/// The fault of a request: `POST /v1/revoke has a body`.
fn wrong_in(call: &Call, request: &Value) -> Option<String> {
    let takes_body = match call.operation.as_str() {
        SESSION | RESULT | TOKEN => true,
        PROFILE | REVOKE => false,
        _ => return refusal(call),
    };
    let header = |name: &str| {
        let headers = request["headers"].as_array().into_iter().flatten();
        let named = headers.filter(|it| it[0] == name);
        let values: Vec<_> = named.filter_map(|it| it[1].as_str()).collect();
        values.join(", ")
    };
    let (content_type, accepted) = (header("content-type"), header("accept"));
    let accepts_json = ["application/json", "application/*", "*/*"]
        .iter()
        .any(|it| accepted.to_ascii_lowercase().contains(it));
    let start = request["start"].as_str().unwrap_or_default();
    let wrong = if start.contains('?') {
        "has a query".to_owned()
    } else if !takes_body && !request["body"].is_null() {
        "has a body".to_owned()
    } else if takes_body && !header("authorization").is_empty() {
        "has an Authorization header beside the credentials in its body".to_owned()
    } else if takes_body && !is_json(&content_type) {
        format!("has the Content-Type {content_type}")
    } else if !accepted.is_empty() && !accepts_json {
        format!("accepts {accepted} and no JSON")
    } else {
        return refusal(call);
    };
    Some(format!("{} {wrong}", call.operation))
}

/// The refusal of a request for its form.
fn refusal(call: &Call) -> Option<String> {
    let rule = call.rule.as_ref()?;
    let mut rules_of_form = RULES_OF_FORM.split(' ');
    let is_of_form = rules_of_form.any(|it| rule.starts_with(it));
    is_of_form.then(|| calls::describe(call))
}

/// Whether the media type is JSON, in the encoding that JSON has.
fn is_json(content_type: &str) -> bool {
    let lower = content_type.to_ascii_lowercase();
    let mut parts = lower.split(';').map(str::trim);
    let is_utf8 = |part: &str| !part.starts_with("charset=") || part.contains("utf-8");
    parts.next() == Some("application/json") && parts.all(is_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_in_utf_8_by_any_spelling() {
        assert!(is_json("Application/JSON; Charset=\"UTF-8\""));
        assert!(!is_json("application/json; charset=iso-8859-1") && !is_json("text/json"));
    }
}
