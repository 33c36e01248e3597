//! The requests of the app in plain logins and after errors: as the broker judges them, and where
//! it takes more than the specification allows, as that has them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::failures::{calls_of, login_before};
use crate::calls::operation::{PROFILE, RESULT, REVOKE, SESSION, TOKEN};
use crate::calls::{self, Call};
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// The beginnings of the rules about the form of a request. The others are about the order of
/// requests, of which other checks speak.
const RULES_OF_FORM: &str = "request. body. client redirect_uri. session_key.pattern provider.known code.length grant_type. code_verifier.pattern bearer.shape bearer.header bearer.once";

/// `requests-valid`: a sign-in with its sign-out, a login that is cancelled, and logins in which
/// an answer cannot be read.
pub(super) async fn requests_valid(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    if trial.app.sign_out.is_some() {
        ada.sign_out().await?;
    }
    let mut browser = trial.browser("browser B");
    let visit = trial.begin(&mut browser).await?;
    let page = trial.to_provider(&mut browser, visit).await?;
    let callback = trial.misbehave(&mut browser, &page, "deny").await?;
    browser.visit(callback).await?;
    for operation in calls_of(trial.flow) {
        let mut login = login_before(trial, operation).await?;
        let mark = trial.mark().await?;
        trial.arm(operation, "html_502").await?;
        login.meet_fault(operation, mark).await?;
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
    let mut rules = RULES_OF_FORM.split(' ');
    let rule = call.rule.as_ref().filter(|_| call.status != Some(429))?;
    rules
        .any(|it| rule.starts_with(it))
        .then(|| calls::describe(call))
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
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_in_utf_8_by_any_spelling_and_a_refusal_counts_for_the_form_of_a_request_alone() {
        for (content_type, rule, status, is_wrong) in [
            ("Application/JSON; Charset=\"UTF-8\"", "", 200, false),
            ("application/json; charset=iso-8859-1", "", 200, true),
            ("text/json", "", 200, true),
            ("application/json", "body.too_large", 413, true),
            ("application/json", "result.once", 400, false),
            ("application/json", "client.rate_limit", 429, false),
        ] {
            let call = Call {
                operation: RESULT.to_owned(),
                rule: Some(rule.to_owned()),
                status: Some(status),
                ..Call::default()
            };
            let request = json!({ "headers": [["content-type", content_type]] });
            assert_eq!(wrong_in(&call, &request).is_some(), is_wrong, "{call:?}");
        }
    }
}
