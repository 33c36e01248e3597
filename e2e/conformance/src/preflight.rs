//! The check that there is a broker to test, before any verdict.

use super::error::{NotTestable, Stop};
use super::http::{Exchange, RawRequest};
use super::run::Run;

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
        let body = project.session_request(&key, run.providers[0]);
        let exchange = send(run, RawRequest::post("/v1/login/session", body)).await?;
        if !exchange.response.is_success() {
            return Err(NotTestable::new(format!(
                "{} does not start a login for the {which}project {} (POST /v1/login/session \
                 answered {}): check its client_id, its secret and its callback {}",
                plan.base_url, project.client_id, exchange.response.status, project.callback,
            )));
        }
    }
    Ok(())
}

/// The providers that a user can sign in with.
async fn available(run: &mut Run<'_>) -> Result<Vec<&'static str>, NotTestable> {
    let base_url = &run.plan.base_url;
    let exchange = send(run, RawRequest::get("/api/providers")).await?;
    let response = &exchange.response;
    let statuses = response.json();
    let Some(statuses) = statuses.as_array().filter(|_| response.is_success()) else {
        return Err(NotTestable::new(format!(
            "{base_url} answers, but not as a sign-in broker: GET /api/providers came back {} \
             with {}",
            response.status,
            if response.media_type.is_empty() {
                "no Content-Type"
            } else {
                &response.media_type
            },
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
        return Err(NotTestable::new(format!(
            "{base_url} has no provider to sign in with: GET /api/providers shows none available"
        )));
    }
    Ok(available)
}

async fn send(run: &mut Run<'_>, request: RawRequest) -> Result<Exchange, NotTestable> {
    let base_url = &run.plan.base_url;
    run.send(request).await.map_err(|stop| match stop {
        Stop::Harness(reason) | Stop::Blocked(reason) => {
            NotTestable::new(format!("{base_url} cannot be tested: {reason}"))
        }
    })
}
