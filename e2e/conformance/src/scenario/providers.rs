//! `GET /api/providers`, and paths and methods that do not exist.

use serde_json::Value;

use crate::expect::{self, Holds, that};
use crate::http::Call;
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop};

pub(super) const TRIES: &[R] = &[
    R::ProvidersShape,
    R::ProvidersKnown,
    R::RequestPath,
    R::RequestMethod,
];

const FIELDS: &[&str] = &["id", "configured", "enabled", "available"];

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let exchange = run.call(Call::get("/api/providers")).await?;
    run.success_status(&exchange);
    let body = exchange.answer.json();
    let statuses = body.as_array().cloned().unwrap_or_default();
    run.judge(R::ProvidersShape, &exchange, shape(&statuses));
    for status in &statuses {
        run.no_members_but(&exchange, status, FIELDS);
    }
    run.judge(R::ProvidersKnown, &exchange, known(&statuses));
    for call in elsewhere(run) {
        let exchange = run.call(call).await?;
        let refusal = expect::refusal(&exchange.answer);
        run.judge(R::RequestPath, &exchange, refusal);
    }
    for call in other_methods() {
        let exchange = run.call(call).await?;
        let refusal = expect::refusal(&exchange.answer);
        run.judge(R::RequestMethod, &exchange, refusal);
    }
    Ok(())
}

fn shape(statuses: &[Value]) -> Holds {
    statuses.iter().try_for_each(|status| {
        expect::has(status, FIELDS)?;
        that(status["id"].is_string(), "expected id to be a string")?;
        ["configured", "enabled", "available"]
            .iter()
            .try_for_each(|name| {
                let expected = format!("expected {name} to be a boolean");
                that(status[name].is_boolean(), expected)
            })
    })
}

fn known(statuses: &[Value]) -> Holds {
    let mut ids: Vec<_> = statuses.iter().map(|it| it["id"].as_str()).collect();
    ids.sort_unstable();
    let both = [Some("github"), Some("google")];
    that(ids == both, "expected google and github, each once")
}

/// Requests that are right but for their path: the versioned ones without the
/// prefix or with another, the others with it.
fn elsewhere(run: &mut Run<'_>) -> Vec<Call> {
    let mut start = |path: &str| {
        let key = run.fresh("session_key");
        Call::post(
            path,
            run.plan.project.session_request(&key, run.providers[0]),
        )
    };
    vec![
        start("/login/session"),
        start("/v2/login/session"),
        start("/V1/login/session"),
        Call::get("/v1/api/providers"),
        Call::get("/v1/authorize"),
    ]
}

fn other_methods() -> [Call; 4] {
    let post = |path| Call::post(path, Value::Object(serde_json::Map::new()));
    [
        Call::get("/v1/login/session"),
        Call::get("/v1/login/result"),
        Call::get("/v1/token"),
        post("/api/providers"),
    ]
}
