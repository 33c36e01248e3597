//! The reasons for which the broker refused an app's first calls: wrong credentials, an
//! unknown callback. Each is a sentence with the way out.

use serde_json::Value;

use crate::calls::Call;
use crate::calls::operation::{AUTHORIZE, SESSION};
use crate::testbed::Testbed;

/// The log's reason for a press that led nowhere.
pub(super) enum Refusal {
    /// The broker refused nothing.
    None,
    /// It refused a callback, which is registered now.
    Registered,
    /// It refused the app's call, for this reason.
    Sentence(String),
}

/// The calls that start a login. A refusal of another one ends no examination.
const STARTS: [&str; 2] = [SESSION, AUTHORIZE];

/// Looks which start of a login the broker refused since `mark`. `own` is the project of
/// an app that shares its stack with others, once a way to sign in has shown it.
pub(super) async fn look(
    testbed: &Testbed,
    mark: u64,
    own: Option<&str>,
) -> Result<Refusal, String> {
    let calls = testbed.calls(mark).await?;
    let Some(refused) = last_refused_start(&calls, own) else {
        return Ok(Refusal::None);
    };
    let exchange = testbed
        .control
        .exchange(&refused.request_id)
        .await
        .unwrap_or_default();
    if is_of_other(named_in(&exchange, "client_id").as_deref(), own) {
        return Ok(Refusal::None);
    }
    let rule = refused.rule.as_deref().unwrap_or_default();
    let named = |member| named_in(&exchange, member);
    Ok(match rule {
        "redirect_uri.registered" => {
            let callback = named("redirect_uri").unwrap_or_default();
            return register(testbed, refused, &callback).await;
        }
        "client.recognised" | "authorize.client" => {
            Refusal::Sentence(wrong_client(testbed, named("client_id")).await?)
        }
        _ => Refusal::Sentence(format!(
            "the broker refused the app's {} by the rule {rule}: see the exchange at {}",
            refused.operation,
            testbed.control.url()
        )),
    })
}

fn last_refused_start<'c>(calls: &'c [Call], own: Option<&str>) -> Option<&'c Call> {
    let is_start = |call: &Call| STARTS.contains(&call.operation.as_str());
    let mut calls = calls.iter().rev().filter(|call| is_start(call));
    calls.find(|call| call.rule.is_some() && !is_of_other(call.project.as_deref(), own))
}

/// Whether the project is known, and another than the app's.
fn is_of_other(project: Option<&str>, own: Option<&str>) -> bool {
    own.is_some_and(|own| project.is_some_and(|its| its != own))
}

/// Registers the callback of an app that the examiner started; the project of another
/// app is its owner's.
async fn register(testbed: &Testbed, refused: &Call, callback: &str) -> Result<Refusal, String> {
    if callback.is_empty() {
        return Ok(Refusal::Sentence(
            "the app names no callback in its first call".to_owned(),
        ));
    }
    if let Some(project) = &testbed.project {
        testbed
            .control
            .allow_callback(&project.client_id, callback)
            .await?;
        return Ok(Refusal::Registered);
    }
    let project = refused.project.as_deref().unwrap_or("its project");
    Ok(Refusal::Sentence(format!(
        "the app's callback {callback} is not registered for {project}: start the stack with --callback {callback} and give the app the credentials that it prints"
    )))
}

/// The sentence for credentials that the broker does not know.
async fn wrong_client(testbed: &Testbed, client_id: Option<String>) -> Result<String, String> {
    let id = client_id.unwrap_or_default();
    let projects = testbed.control.projects().await?;
    let is_known = projects.iter().any(|project| project.client_id == id);
    let place = format!("GET {}/api/projects", testbed.control.url());
    Ok(if is_known {
        format!("the app sends a wrong client_secret for the project {id}: take it from {place}")
    } else {
        format!(
            "the broker has no project {id}: give the app the client_id and client_secret of one of {place}"
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
    // The start is shown decoded.
    let mut pairs = query
        .split(' ')
        .next()?
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == member)?;
    Some(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::operation::REVOKE;

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
        let other = refused(SESSION, "prj_b", Some("redirect_uri.registered"));
        for (calls, own, found) in [
            (vec![revoked.clone()], None, None),
            (vec![authorize, revoked], None, Some(AUTHORIZE)),
            (vec![other.clone()], Some("prj_a"), None),
            (vec![other.clone()], Some("prj_b"), Some(SESSION)),
            // Nothing is known yet.
            (vec![other], None, Some(SESSION)),
        ] {
            let refused = last_refused_start(&calls, own);
            assert_eq!(refused.map(|it| it.operation.as_str()), found, "{own:?}");
        }
    }
}
