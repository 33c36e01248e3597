//! `GET /api/providers`, which tells that there is a broker to test, before any verdict; and
//! paths and methods that do not exist.

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::expect::{self, Check, ensure};
use crate::http::{Exchange, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::verdict::{NotTestable, Stop};

/// The providers of the contract.
const PROVIDERS: [&str; 2] = ["google", "github"];

const FIELDS: &[&str] = &["id", "configured", "enabled", "available"];

/// Checks that a broker answers, and that it knows the projects.
pub(crate) async fn check_broker(run: &mut Run<'_>) -> Result<(), NotTestable> {
    run.report_progress("Checking the broker");
    run.providers = available(run).await?;
    let plan = run.plan;
    let projects = [("", Some(&plan.project)), ("other ", plan.other.as_ref())];
    for (which, project) in projects {
        let Some(project) = project else { continue };
        let key = run.new_secret("session_key");
        let backend = &project.backend;
        let start = backend.start(&key, run.providers[0]);
        let exchange = send(run, start.into()).await?;
        if !exchange.is_success() {
            return Err(NotTestable(format!(
                "{} does not start a login for the {which}project {} (POST /v1/login/session \
                 answered {}): check its client_id, its secret and its callback {}",
                plan.base_url, backend.client_id, exchange.status, backend.callback,
            )));
        }
    }
    Ok(())
}

/// The providers that a user can sign in with.
async fn available(run: &mut Run<'_>) -> Result<Vec<&'static str>, NotTestable> {
    let base_url = &run.plan.base_url;
    let exchange = send(run, RawRequest::get("/api/providers")).await?;
    let statuses = exchange.body.as_array();
    let Some(statuses) = statuses.filter(|_| exchange.is_success()) else {
        let media_type = exchange.header(CONTENT_TYPE);
        let media_type = match &*media_type {
            "" => "no Content-Type",
            media_type => media_type,
        };
        return Err(NotTestable(format!(
            "{base_url} answers, but not as a sign-in broker: GET /api/providers came back {} \
             with {media_type}",
            exchange.status,
        )));
    };
    let is_available = |id: &str| {
        let mut of_it = statuses.iter().filter(|status| status["id"] == id);
        of_it.any(|status| status["available"] != false)
    };
    let available: Vec<_> = PROVIDERS
        .into_iter()
        .filter(|id| is_available(id))
        .collect();
    if available.is_empty() {
        return Err(NotTestable(format!(
            "{base_url} has no provider to sign in with: GET /api/providers shows none available"
        )));
    }
    Ok(available)
}

async fn send(run: &mut Run<'_>, request: RawRequest) -> Result<Exchange, NotTestable> {
    let base_url = &run.plan.base_url;
    run.send(request).await.map_err(|stop| {
        let reason = stop.into_reason();
        NotTestable(format!("{base_url} cannot be tested: {reason}"))
    })
}

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
    let backend = &run.plan.project.backend;
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
