//! The examples of the contract, with values that work in this stack: a reader can copy a
//! request and send it.

use contract::{RedirectUri, SessionKey};
use rocket::serde::json::Value;

use crate::projects::ProjectCredentials;

/// The values of the document that stand for those of a deployment.
const CLIENT_ID: &str = "prj_example";
const CLIENT_SECRET: &str = "the secret of the registration";
const REDIRECT_URI: &str = "https://app.example/signed-in";
const SESSION_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const BROKER: &str = "https://signin.example";

/// The paths of the legacy flow, for which the demo has a callback of its own, its second.
const LEGACY_PATHS: [&str; 2] = ["/authorize", "/v1/token"];

/// Replaces the values by those of the demo, or of the first project where there is none,
/// and the session key by a fresh one.
pub(super) fn fill_in(document: &mut Value, broker: &str, projects: &[ProjectCredentials]) {
    let is_demo = |it: &&ProjectCredentials| it.client_id.as_str() == "demo";
    let Some(project) = projects.iter().find(is_demo).or(projects.first()) else {
        return;
    };
    let key = SessionKey::from_random(&broker::random::bytes32());
    let mut values = vec![
        (CLIENT_ID, project.client_id.as_str()),
        (CLIENT_SECRET, project.client_secret.expose()),
        (SESSION_KEY, key.expose()),
        (BROKER, broker),
    ];
    let callbacks = &project.redirect_uris;
    let legacy = callbacks.get(1).map(RedirectUri::as_str);
    for path in LEGACY_PATHS {
        replace(
            &mut document["paths"][path],
            &[(REDIRECT_URI, legacy.unwrap_or(REDIRECT_URI))],
        );
    }
    values.extend(callbacks.first().map(|uri| (REDIRECT_URI, uri.as_str())));
    replace(document, &values);
}

fn replace(value: &mut Value, values: &[(&str, &str)]) {
    match value {
        Value::Object(members) => members.values_mut().for_each(|it| replace(it, values)),
        Value::Array(items) => items.iter_mut().for_each(|it| replace(it, values)),
        Value::String(text) => {
            for (from, to) in values {
                if text.starts_with(from) {
                    *text = text.replacen(from, to, 1);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_values_that_are_replaced() {
        for value in [CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SESSION_KEY, BROKER] {
            assert!(contract::openapi::DOCUMENT.contains(value), "{value}");
        }
        let document: Value = serde_json::from_str(contract::openapi::DOCUMENT).unwrap();
        for path in LEGACY_PATHS {
            let operations = document["paths"][path].to_string();
            assert!(operations.contains(REDIRECT_URI), "{path}");
        }
    }
}
