//! `GET /api/providers`, and paths and methods that do not exist.

use serde_json::Value;

use crate::error::Stop;
use crate::expect::{self, Check, ensure};
use crate::http::RawRequest;
use crate::requirement::Requirement as R;
use crate::run::Run;

pub(super) const COVERS: &[R] = &[
    R::ProvidersShape,
    R::ProvidersKnown,
    R::RequestPath,
    R::RequestMethod,
];

const FIELDS: &[&str] = &["id", "configured", "enabled", "available"];

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let exchange = run.send(RawRequest::get("/api/providers")).await?;
    run.check_success_status(&exchange);
    let body = exchange.response.json();
    let statuses = body.as_array().cloned().unwrap_or_default();
    run.check(R::ProvidersShape, &exchange, shape(&statuses));
    for status in &statuses {
        run.check_no_members_but(&exchange, status, FIELDS);
    }
    run.check(R::ProvidersKnown, &exchange, known(&statuses));
    for call in elsewhere(run) {
        let exchange = run.send(call).await?;
        let refusal = expect::refusal(&exchange.response);
        run.check(R::RequestPath, &exchange, refusal);
    }
    for call in other_methods() {
        let exchange = run.send(call).await?;
        let refusal = expect::refusal(&exchange.response);
        run.check(R::RequestMethod, &exchange, refusal);
    }
    Ok(())
}

fn shape(statuses: &[Value]) -> Check {
    statuses.iter().try_for_each(|status| {
        expect::has(status, FIELDS)?;
        ensure(status["id"].is_string(), "expected id to be a string")?;
        ["configured", "enabled", "available"]
            .iter()
            .try_for_each(|name| {
                let expected = format!("expected {name} to be a boolean");
                ensure(status[name].is_boolean(), expected)
            })
    })
}

fn known(statuses: &[Value]) -> Check {
    let mut ids: Vec<_> = statuses.iter().map(|it| it["id"].as_str()).collect();
    ids.sort_unstable();
    let both = [Some("github"), Some("google")];
    ensure(ids == both, "expected google and github, each once")
}

/// Requests that are good but for their path: the versioned ones without the prefix
/// or with another, the others with it.
fn elsewhere(run: &mut Run<'_>) -> Vec<RawRequest> {
    let mut start = |path: &str| {
        let key = run.new_secret("session_key");
        RawRequest::post(
            path,
            run.plan.project.session_request(&key, run.providers[0]),
        )
    };
    vec![
        start("/login/session"),
        start("/v2/login/session"),
        start("/V1/login/session"),
        RawRequest::get("/v1/api/providers"),
        RawRequest::get("/v1/authorize"),
    ]
}

fn other_methods() -> [RawRequest; 4] {
    let post = |path| RawRequest::post(path, Value::Object(serde_json::Map::new()));
    [
        RawRequest::get("/v1/login/session"),
        RawRequest::get("/v1/login/result"),
        RawRequest::get("/v1/token"),
        post("/api/providers"),
    ]
}
