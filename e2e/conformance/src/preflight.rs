//! The check that there is a broker to test, before any verdict.

use reqwest::header::CONTENT_TYPE;

use super::http::{Exchange, RawRequest};
use super::run::Run;
use super::verdict::{NotTestable, Stop};

/// The providers of the contract.
const PROVIDERS: [&str; 2] = ["google", "github"];

/// Checks that a broker answers, and that it knows the projects.
pub(crate) async fn check(run: &mut Run<'_>) -> Result<(), NotTestable> {
    run.report_progress("Checking the broker");
    run.providers = available(run).await?;
    let plan = run.plan;
    let projects = [("", Some(&plan.project)), ("other ", plan.other.as_ref())];
    for (which, project) in projects {
        let Some(project) = project else { continue };
        let key = run.new_secret("session_key");
        let start = project.backend().start(&key, run.providers[0]);
        let exchange = send(run, start.into()).await?;
        if !exchange.is_success() {
            return Err(NotTestable(format!(
                "{} does not start a login for the {which}project {} (POST /v1/login/session \
                 answered {}): check its client_id, its secret and its callback {}",
                plan.base_url, project.client_id, exchange.status, project.callback,
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
    run.send(request).await.map_err(|stop| match stop {
        Stop::Harness(reason) | Stop::Blocked(reason) => {
            NotTestable(format!("{base_url} cannot be tested: {reason}"))
        }
    })
}
