//! Whether there is anything to judge, asked before any verdict.

use std::fmt;

use super::http::{Call, Exchange};
use super::run::{Run, Stop};

/// Why there is nothing to judge, in one sentence.
#[derive(Debug, Clone, thiserror::Error)]
pub struct Unfit(String);

impl Unfit {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Both providers of the contract.
const PROVIDERS: [&str; 2] = ["google", "github"];

/// Asks who is there, and whether they know the projects.
pub(crate) async fn check(run: &mut Run<'_>) -> Result<(), Unfit> {
    run.tell("Looking who is there");
    run.providers = available(run).await?;
    let plan = run.plan;
    let projects = [("", Some(&plan.project)), ("other ", plan.other.as_ref())];
    for (which, project) in projects {
        let Some(project) = project else { continue };
        let key = run.fresh("session_key");
        let request = project.session_request(&key, run.providers[0]);
        let exchange = ask(run, Call::post("/v1/login/session", request)).await?;
        if !exchange.answer.is_success() {
            return Err(Unfit::new(format!(
                "{} does not start a login for the {which}project {} (POST /v1/login/session \
                 answered {}): check its client_id, its secret and its callback {}",
                plan.base_url, project.client_id, exchange.answer.status, project.callback,
            )));
        }
    }
    Ok(())
}

/// The providers that can be signed in with.
async fn available(run: &mut Run<'_>) -> Result<Vec<&'static str>, Unfit> {
    let base_url = &run.plan.base_url;
    let exchange = ask(run, Call::get("/api/providers")).await?;
    let answer = &exchange.answer;
    let statuses = answer.json();
    let Some(statuses) = statuses.as_array().filter(|_| answer.is_success()) else {
        return Err(Unfit::new(format!(
            "{base_url} answers, but not as a sign-in broker: GET /api/providers came back {} \
             with {}",
            answer.status,
            if answer.media_type.is_empty() {
                "no Content-Type"
            } else {
                &answer.media_type
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
        return Err(Unfit::new(format!(
            "{base_url} has no provider to sign in with: GET /api/providers shows none available"
        )));
    }
    Ok(available)
}

async fn ask(run: &mut Run<'_>, call: Call) -> Result<Exchange, Unfit> {
    let base_url = &run.plan.base_url;
    run.call(call).await.map_err(|stop| match stop {
        Stop::Harness(why) | Stop::Blocked(why) => {
            Unfit::new(format!("{base_url} cannot be tested: {why}"))
        }
    })
}
