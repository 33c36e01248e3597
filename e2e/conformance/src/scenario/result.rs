//! `POST /v1/login/result`: reads, and the checks of their responses.

use serde_json::Value;

use crate::error::Stop;
use crate::expect::{self, Check};
use crate::http::{Exchange, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;

pub(super) const PATH: &str = "/v1/login/result";

pub(super) const FIELDS: &[&str] = &["client_id", "client_secret", "session_key", "redirect_uri"];

/// Reads the result under `key`.
pub(super) async fn read(run: &mut Run<'_>, key: &str) -> Result<Exchange, Stop> {
    let body = run.plan.project.result_request(key);
    let exchange = run.send(RawRequest::post(PATH, body)).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

/// Checks that a read was refused, and with 400.
pub(super) fn check_refused(run: &mut Run<'_>, requirement: R, exchange: &Exchange) {
    if run.check_refusal_of_any_status(requirement, exchange) {
        let status = expect::status(&exchange.response, 400);
        run.check(R::ResultRefusedStatus, exchange, status);
    }
}

/// Checks the members of a result.
pub(super) fn check_members(run: &mut Run<'_>, exchange: &Exchange, body: &Value) {
    if exchange.response.is_success() {
        run.check(R::ResultFields, exchange, expect::login_result(body));
        if let Some(members) = expect::members_of_result(body["status"].as_str()) {
            run.check_no_members_but(exchange, body, members);
        }
    }
}

/// The result is a success.
pub(super) fn is_succeeded(exchange: &Exchange, body: &Value) -> Check {
    expect::success(&exchange.response)?;
    expect::member(body, "status", "succeeded")
}

/// The login is known and not finished.
pub(super) fn is_unfinished(exchange: &Exchange) -> bool {
    let body = exchange.response.json();
    let is_terminal = ["succeeded", "failed"]
        .iter()
        .any(|it| body["status"] == *it);
    exchange.response.is_success() && !is_terminal
}

/// The result is pending.
pub(super) fn is_pending(exchange: &Exchange) -> Check {
    expect::member(&exchange.response.json(), "status", "pending")
}
