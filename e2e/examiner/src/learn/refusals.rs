//! The reasons for which the broker refused an app's first calls: wrong credentials, an
//! unknown callback. Each is a sentence with the way out.

use contract::rules::Rule;
use serde_json::Value;

use crate::calls::operation::{PROVIDERS, REVOKE};
use crate::calls::{Call, is_fetch};
use crate::control::Project;
use crate::testbed::Testbed;

/// The log's reason for a press that led nowhere.
pub(super) enum Refusal {
    /// The broker refused nothing.
    None,
    /// It refused a callback, which is registered now.
    Registered,
    /// It refused the app's call, for this reason.
    Call(String),
}

/// Looks which start of a login the broker refused among `calls`. `own` is the project of
/// an app that shares its stack with others, once a way to sign in has shown it.
///
/// # Errors
///
/// If the app cannot be examined before its settings are put right; also if another way works,
/// because this one's flow would look like one that the app lacks.
pub(super) async fn look(
    testbed: &Testbed,
    calls: &[Call],
    own: Option<&str>,
) -> Result<Refusal, String> {
    let Some(refused) = last_refused_start(calls, own) else {
        return Ok(Refusal::None);
    };
    let exchange = testbed.control.exchange(&refused.request_id).await;
    let exchange = exchange.unwrap_or_default();
    let client_id = named_in(&exchange, "client_id");
    if is_of_other(client_id.as_deref(), own) {
        return Ok(Refusal::None);
    }
    match refused.rule.as_deref().unwrap_or_default() {
        "redirect_uri.registered" => {
            let callback = named_in(&exchange, "redirect_uri").unwrap_or_default();
            register(testbed, refused, &callback).await?;
            Ok(Refusal::Registered)
        }
        "client.recognised" | "authorize.client" => {
            let id = client_id.unwrap_or_default();
            project(testbed, &id).await?;
            Err(format!(
                "the app sends a wrong client_secret for the project {id}: take it from GET {}/api/projects",
                testbed.control.url()
            ))
        }
        rule => Ok(Refusal::Call(sentence(rule, &exchange))),
    }
}

/// The last refusal of `calls`, as the end of a sentence about a login that does not end well.
pub(super) async fn last(testbed: &Testbed, calls: &[Call]) -> String {
    let refused = calls.iter().rev().find(|it| it.rule.is_some());
    let Some(Call {
        rule: Some(rule),
        request_id,
        ..
    }) = refused
    else {
        return String::new();
    };
    let exchange = testbed.control.exchange(request_id).await;
    let says = sentence(rule, &exchange.unwrap_or_default());
    format!(" (before that, {says})")
}

/// The sentence for any other rule, with the masked exchange: the stack of an examination ends
/// with it.
fn sentence(rule: &str, exchange: &Value) -> String {
    let known = Rule::ALL.iter().find(|it| it.id() == rule);
    let happened = known.map_or("", |it| it.happened());
    let [asked, answered] = ["request", "answer"].map(|part| {
        let text = |member: &str| exchange[part][member].as_str().unwrap_or_default();
        let words: Vec<_> = text("body").split_whitespace().collect();
        format!("{} {}", text("start"), words.join(" "))
    });
    let (asked, answered) = (asked.trim(), answered.trim());
    format!("the broker refused {asked} by the rule {rule}, with {answered}. {happened}")
}

/// The last refused call that may start a login: also one that reaches no route.
fn last_refused_start<'c>(calls: &'c [Call], own: Option<&str>) -> Option<&'c Call> {
    let is_later = |call: &Call| is_fetch(call) || call.operation == REVOKE;
    let is_start = |call: &Call| !is_later(call) && call.operation != PROVIDERS;
    let mut calls = calls.iter().rev().filter(|call| is_start(call));
    calls.find(|call| call.rule.is_some() && !is_of_other(call.project.as_deref(), own))
}

/// Whether the project is known, and another than the app's.
fn is_of_other(project: Option<&str>, own: Option<&str>) -> bool {
    own.is_some_and(|own| project.is_some_and(|its| its != own))
}

/// Registers the callback of an app that the examiner started; the project of another
/// app is its owner's.
async fn register(testbed: &Testbed, refused: &Call, callback: &str) -> Result<(), String> {
    if callback.is_empty() {
        return Err("the app names no callback in its first call".to_owned());
    }
    if let Some(project) = testbed.project() {
        let registered = testbed.control.allow_callback(&project.client_id, callback);
        return Ok(registered.await?);
    }
    let project = refused.project.as_deref().unwrap_or("its project");
    Err(format!(
        "the app's callback {callback} is not registered for {project}: start the stack with --callback {callback} and give the app the credentials that it prints"
    ))
}

/// The project of this id; if there is none, the sentence for it.
pub(super) async fn project(testbed: &Testbed, id: &str) -> Result<Project, String> {
    let projects = testbed.control.projects().await?;
    let project = projects.into_iter().find(|project| project.client_id == id);
    project.ok_or_else(|| {
        format!(
            "the broker has no project {id}: give the app the client_id and client_secret of one of GET {}/api/projects",
            testbed.control.url()
        )
    })
}

/// A member of the request in a masked exchange: of its JSON, or of its query.
fn named_in(exchange: &Value, member: &str) -> Option<String> {
    let request = &exchange["request"];
    let body = request["body"].as_str().unwrap_or_default();
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    if let Some(text) = body[member].as_str() {
        return Some(text.to_owned());
    }
    let (_, query) = request["start"].as_str()?.split_once('?')?;
    // The start is shown decoded, and a mask has a blank.
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == member)?;
    Some(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::operation::{AUTHORIZE, SESSION};

    fn refused(operation: &str, project: &str, rule: Option<&str>) -> Call {
        Call {
            operation: operation.to_owned(),
            project: Some(project.to_owned()),
            rule: rule.map(str::to_owned),
            ..Call::default()
        }
    }

    #[test]
    fn the_last_refused_start_of_this_very_app_ends_the_search() {
        let revoked = refused(REVOKE, "prj_a", Some("token.known"));
        let authorize = refused(AUTHORIZE, "prj_a", Some("authorize.scope"));
        let no_route = Call {
            project: None,
            ..refused("GET (no route)", "", Some("request.secret_in_url"))
        };
        let other = refused(SESSION, "prj_b", Some("redirect_uri.registered"));
        for (calls, own, found) in [
            (vec![revoked.clone()], None, None),
            (vec![authorize, revoked], None, Some(AUTHORIZE)),
            (vec![other.clone()], Some("prj_a"), None),
            (vec![other.clone()], Some("prj_b"), Some(SESSION)),
            // Nothing is known yet.
            (vec![other], None, Some(SESSION)),
            // A secret in its address keeps a call from its route.
            (vec![no_route], Some("prj_a"), Some("GET (no route)")),
        ] {
            let refused = last_refused_start(&calls, own);
            assert_eq!(refused.map(|it| it.operation.as_str()), found, "{own:?}");
        }
    }
}
