//! Flaws of profiles by token, and of revocations.

use super::super::proxy::ProxiedResponse;
use super::NonCompliantBroker;

const TOKEN: &str = "/v1/token";
const PROFILE: &str = "/v1/profile";
const REVOKE: &str = "/v1/revoke";

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    [bearers(), revocations()].into_iter().flatten().collect()
}

fn bearers() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::accepts("accepts a token in the query", &[], |_, request| {
            if let Some(token) = request.parameter("access_token") {
                request.drop_query();
                request.authorize(&format!("Bearer {token}"));
            }
            None
        })
        .and_chooses(&[(
            "bearer.header",
            "expected a refusal (4xx)",
            "GET /v1/profile?access_token=<",
        )]),
        NonCompliantBroker::accepts(
            "revokes without a token",
            &[(
                "bearer.shape",
                "expected a refusal (4xx)",
                "POST /v1/revoke -> 200",
            )],
            |_, request| {
                let is_it = request.path == REVOKE && request.authorization().is_empty();
                is_it.then(|| ProxiedResponse::of(200, "{}"))
            },
        ),
        NonCompliantBroker::responds(
            "accepts tokens that it never issued",
            &[(
                "bearer.known",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"subject":""#,
            )],
            |memory, request, response| {
                let bearer = request.authorization();
                if request.path == TOKEN && response.status == 200 {
                    let token = response.json()["access_token"].clone();
                    let token = token.as_str().expect("a token");
                    memory.known.insert(format!("Bearer {token}"));
                } else if request.path == PROFILE && response.status == 200 {
                    memory
                        .answers
                        .insert("profile".to_owned(), response.clone());
                } else if request.path == PROFILE
                    && bearer.len() == "Bearer fsi_".len() + 43
                    && !memory.known.contains(&bearer)
                {
                    *response = memory.answers["profile"].clone();
                }
            },
        ),
        NonCompliantBroker::responds(
            "returns no profile for a token",
            &[
                (
                    "profile.bearer",
                    "expected a success",
                    r#" -> 403 application/json {"error":"request_failed"}"#,
                ),
                (
                    "token.lifetime",
                    "expected a success",
                    r#" -> 403 application/json {"error":"request_failed"}"#,
                ),
            ],
            |_, request, response| {
                if request.path == PROFILE && response.status == 200 {
                    *response = ProxiedResponse::refused(403);
                }
            },
        ),
    ]
}

fn revocations() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds(
            "returns a profile for a revoked token",
            &[(
                "bearer.ended",
                "expected a refusal (4xx)",
                r#" -> 200 application/json {"subject":""#,
            )],
            |memory, request, response| {
                let bearer = request.authorization();
                if request.path == REVOKE && response.status == 200 {
                    memory.known.insert(bearer);
                } else if request.path == PROFILE && response.status == 200 {
                    memory
                        .answers
                        .insert("profile".to_owned(), response.clone());
                } else if request.path == PROFILE && memory.known.contains(&bearer) {
                    *response = memory.answers["profile"].clone();
                }
            },
        ),
        NonCompliantBroker::responds(
            "revokes nothing",
            &[(
                "revoke.accepted",
                "expected a success",
                r#" -> 403 application/json {"error":"request_failed"}"#,
            )],
            |_, request, response| {
                if request.path == REVOKE && response.status == 200 {
                    *response = ProxiedResponse::refused(403);
                }
            },
        )
        .blocking(&["revoke.body", "revoke.idempotent", "bearer.ended"]),
        NonCompliantBroker::responds(
            "revokes a token once",
            &[(
                "revoke.idempotent",
                "expected a success",
                r#" -> 401 application/json {"error":"request_failed"}"#,
            )],
            |memory, request, response| {
                if request.path == REVOKE
                    && response.status == 200
                    && !memory.known.insert(request.authorization())
                {
                    *response = ProxiedResponse::refused(401);
                }
            },
        ),
        NonCompliantBroker::changes(
            "revokes only what it issued",
            &[(
                "revoke.idempotent",
                "expected a success",
                r#" -> 401 application/json {"error":"request_failed"}"#,
            )],
            |memory, request| {
                let is_it = request.path == REVOKE
                    && request.authorization().len() == "Bearer fsi_".len() + 43
                    && !memory.known.contains(&request.authorization());
                is_it.then(|| ProxiedResponse::refused(401))
            },
            |memory, request, response| {
                if request.path == TOKEN && response.status == 200 {
                    let token = response.json()["access_token"].clone();
                    let token = token.as_str().expect("a token");
                    memory.known.insert(format!("Bearer {token}"));
                }
            },
        ),
    ]
}
