//! `GET /v1/profile` and `POST /v1/revoke`.

use agent::backend::Call;
use reqwest::Method;
use serde_json::json;

use crate::expect::ensure;
use crate::http::{Exchange, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::verdict::Stop;

/// Fetches the profile with `token`.
pub(super) async fn profile(run: &mut Run<'_>, token: &str) -> Result<Exchange, Stop> {
    let exchange = run.send(Call::profile(token)).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

/// A token of the same form that was never issued.
fn unknown_token_like(run: &mut Run<'_>, token: &str) -> String {
    const CHANGED: usize = 20;
    let mut random = run.new_secret("access_token");
    random.truncate(CHANGED);
    let same = token.len().saturating_sub(CHANGED);
    let unknown = format!("{}{random}", token.get(..same).unwrap_or_default());
    run.mask_secret("access_token", &unknown);
    unknown
}

/// Sends no token, a malformed one, an unknown one, and the good one elsewhere.
pub(super) async fn check_refusals(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let unknown = format!("Bearer {}", unknown_token_like(run, token));
    let to_profile = || RawRequest::get("/v1/profile");
    let to_revoke = || RawRequest {
        method: Method::POST,
        ..RawRequest::get("/v1/revoke")
    };
    let with = |call: RawRequest, value: &str| call.with_authorization(value);
    for (requirement, call) in [
        (R::BearerShape, to_profile()),
        (R::BearerShape, to_revoke()),
        (R::BearerShape, with(to_profile(), "Bearer tooshort")),
        (R::BearerShape, with(to_revoke(), "Bearer tooshort")),
        (R::BearerKnown, with(to_profile(), &unknown)),
        (
            R::BearerHeader,
            with(to_profile(), &format!("Basic {token}")),
        ),
        (R::BearerHeader, with(to_profile(), token)),
        (
            R::BearerHeader,
            RawRequest::get(&format!("/v1/profile?access_token={token}")),
        ),
    ] {
        let exchange = run.send(call).await?;
        run.check_refusal(requirement, &exchange, 401);
    }
    Ok(())
}

/// Revokes the token, uses it, and revokes it again.
pub(super) async fn check_revocation(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let exchange = run.send(Call::revoke(token)).await?;
    if !run.check_success(R::RevokeAccepted, &exchange) {
        return Err(Stop::blocked("a token could not be revoked"));
    }
    let is_empty = exchange.body == json!({});
    let empty = ensure(is_empty, "this kit sends an empty object");
    run.check(R::RevokeBody, &exchange, empty);
    let exchange = profile(run, token).await?;
    run.check_refusal(R::BearerEnded, &exchange, 401);
    for again in [token, &unknown_token_like(run, token)] {
        let exchange = run.send(Call::revoke(again)).await?;
        run.check_success(R::RevokeIdempotent, &exchange);
    }
    Ok(())
}
