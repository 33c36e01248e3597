//! `GET /v1/profile` and `POST /v1/revoke`.

use reqwest::Method;
use serde_json::Value;

use crate::error::Stop;
use crate::expect::ensure;
use crate::http::{Exchange, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;

/// Fetches the profile with `token`.
pub(super) async fn profile(run: &mut Run<'_>, token: &str) -> Result<Exchange, Stop> {
    let call = RawRequest::get("/v1/profile").with_authorization(format!("Bearer {token}"));
    let exchange = run.send(call).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

async fn revoke(run: &mut Run<'_>, token: &str) -> Result<Exchange, Stop> {
    let call = RawRequest {
        method: Method::POST,
        ..RawRequest::get("/v1/revoke").with_authorization(format!("Bearer {token}"))
    };
    run.send(call).await
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
    let in_basic = format!("Basic {token}");
    let short = "Bearer tooshort";
    let no_scheme = token.to_owned();
    let to_profile = RawRequest::get("/v1/profile");
    let to_revoke = RawRequest {
        method: Method::POST,
        ..RawRequest::get("/v1/revoke")
    };
    for call in [
        to_profile.clone(),
        to_revoke.clone(),
        to_profile.clone().with_authorization(short),
        to_revoke.with_authorization(short),
    ] {
        let exchange = run.send(call).await?;
        run.check_refusal(R::BearerShape, &exchange, 401);
    }
    let exchange = run
        .send(to_profile.clone().with_authorization(unknown))
        .await?;
    run.check_refusal(R::BearerKnown, &exchange, 401);
    let in_query = format!("/v1/profile?access_token={token}");
    for call in [
        to_profile.clone().with_authorization(in_basic),
        to_profile.with_authorization(no_scheme),
        RawRequest::get(&in_query),
    ] {
        let exchange = run.send(call).await?;
        run.check_refusal(R::BearerHeader, &exchange, 401);
    }
    Ok(())
}

/// Revokes the token, uses it, and revokes it again.
pub(super) async fn check_revocation(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let exchange = revoke(run, token).await?;
    if !run.check_success(R::RevokeAccepted, &exchange) {
        return Err(Stop::Blocked("a token could not be revoked".to_owned()));
    }
    let empty = ensure(
        exchange.response.json() == Value::Object(serde_json::Map::new()),
        "this kit sends an empty object",
    );
    run.check(R::RevokeBody, &exchange, empty);
    let exchange = profile(run, token).await?;
    run.check_refusal(R::BearerEnded, &exchange, 401);
    let again = revoke(run, token).await?;
    run.check_success(R::RevokeIdempotent, &again);
    let unknown = unknown_token_like(run, token);
    let exchange = revoke(run, &unknown).await?;
    run.check_success(R::RevokeIdempotent, &exchange);
    Ok(())
}
