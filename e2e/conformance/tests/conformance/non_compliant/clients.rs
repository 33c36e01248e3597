//! Flaws of credentials: others than the project's own are accepted.

use super::super::test_broker::{CLIENT_ID, OTHER_CLIENT_ID, SECRET};
use super::NonCompliantBroker;

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::accepts(
            "accepts the secret in a URL",
            &[(
                "request.secret_in_url",
                "expected a refusal (4xx)",
                "POST /v1/login/session?client_secret=<",
            )],
            |_, request| {
                let is_missing = request.json().get("client_secret").is_none();
                if let Some(secret) = request.parameter("client_secret")
                    && is_missing
                {
                    request.drop_query();
                    request.put("client_secret", &secret);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts HTTP Basic authentication",
            &[(
                "client.in_body",
                "expected a refusal (4xx)",
                "POST /v1/login/session (Authorization: Basic <",
            )],
            |_, request| {
                if let Some((id, secret)) = request.basic_credentials() {
                    request.put("client_id", &id);
                    request.put("client_secret", &secret);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts a client_id of any length",
            &[(
                "client_id.length",
                "expected a refusal (4xx)",
                r#"xxx","client_secret""#,
            )],
            |_, request| {
                if request.text("client_id").len() > 100 {
                    request.put("client_id", CLIENT_ID);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts a client_secret of any length",
            &[(
                "client_secret.length",
                "expected a refusal (4xx)",
                r#", 201 long>","session_key""#,
            )],
            |_, request| {
                if request.text("client_secret").len() > 200 {
                    request.put("client_secret", SECRET);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "compares only the beginning of a secret",
            &[(
                "client.recognised",
                "expected a refusal (4xx)",
                r#", 41 long>","session_key""#,
            )],
            |_, request| {
                if is_longer(&request.text("client_secret"), SECRET) {
                    request.put("client_secret", SECRET);
                }
                None
            },
        ),
        NonCompliantBroker::accepts(
            "accepts any client_id",
            &[(
                "client.recognised",
                "expected a refusal (4xx)",
                r#""client_id":"an-unknown-client""#,
            )],
            |_, request| {
                let id = request.text("client_id");
                if !id.is_empty() && id.len() <= 100 && id != OTHER_CLIENT_ID {
                    request.put("client_id", CLIENT_ID);
                }
                None
            },
        ),
    ]
}

/// Longer than `text`, and within the limit of a secret.
fn is_longer(secret: &str, text: &str) -> bool {
    secret.len() <= 200 && secret != text && secret.starts_with(text)
}
