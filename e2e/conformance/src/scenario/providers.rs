//! `GET /api/providers`, and paths and methods that do not exist.

use serde_json::{Value, json};

use crate::expect::{self, Check, ensure};
use crate::http::RawRequest;
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::verdict::Stop;

const FIELDS: &[&str] = &["id", "configured", "enabled", "available"];

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let exchange = run.send(RawRequest::get("/api/providers")).await?;
    run.check_success_status(&exchange);
    let statuses = exchange.body.as_array().cloned().unwrap_or_default();
    run.check(R::ProvidersShape, &exchange, shape(&statuses));
    for status in &statuses {
        run.check_no_members_but(&exchange, status, FIELDS);
    }
    run.check(R::ProvidersKnown, &exchange, known(&statuses));
    let elsewhere = elsewhere(run).map(|call| (R::RequestPath, call));
    let otherwise = other_methods().map(|call| (R::RequestMethod, call));
    for (requirement, call) in elsewhere.into_iter().chain(otherwise) {
        let exchange = run.send(call).await?;
        run.check(requirement, &exchange, expect::refusal(&exchange));
    }
    Ok(())
}

fn shape(statuses: &[Value]) -> Check {
    statuses.iter().try_for_each(|status| {
        expect::has(status, FIELDS)?;
        ensure(status["id"].is_string(), "expected id to be a string")?;
        FIELDS[1..].iter().try_for_each(|name| {
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
fn elsewhere(run: &mut Run<'_>) -> [RawRequest; 5] {
    let backend = run.plan.project.backend();
    let mut start = |path: &str| {
        let key = run.new_secret("session_key");
        RawRequest {
            path: path.to_owned(),
            ..backend.start(&key, run.providers[0]).into()
        }
    };
    [
        start("/login/session"),
        start("/v2/login/session"),
        start("/V1/login/session"),
        RawRequest::get("/v1/api/providers"),
        RawRequest::get("/v1/authorize"),
    ]
}

fn other_methods() -> [RawRequest; 4] {
    [
        RawRequest::get("/v1/login/session"),
        RawRequest::get("/v1/login/result"),
        RawRequest::get("/v1/token"),
        RawRequest::post("/api/providers", json!({})),
    ]
}
