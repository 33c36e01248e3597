//! What an access token fetches, and how it ends.

use reqwest::Method;
use serde_json::Value;

use crate::expect::that;
use crate::http::{Call, Exchange};
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop};

/// Asks for the profile with `token`.
pub(super) async fn profile(run: &mut Run<'_>, token: &str) -> Result<Exchange, Stop> {
    let call = Call::get("/v1/profile").with_authorization(format!("Bearer {token}"));
    let exchange = run.call(call).await?;
    run.success_status(&exchange);
    Ok(exchange)
}

async fn revoke(run: &mut Run<'_>, token: &str) -> Result<Exchange, Stop> {
    let call = Call {
        method: Method::POST,
        ..Call::get("/v1/revoke").with_authorization(format!("Bearer {token}"))
    };
    run.call(call).await
}

/// A token of the same form that nobody issued.
fn like(run: &mut Run<'_>, token: &str) -> String {
    const OTHER: usize = 20;
    let mut random = run.fresh("access_token");
    random.truncate(OTHER);
    let same = token.len().saturating_sub(OTHER);
    let like = format!("{}{random}", token.get(..same).unwrap_or_default());
    run.keep_secret("access_token", &like);
    like
}

/// No token, no well-formed one, one that nobody issued, and a good one elsewhere.
pub(super) async fn wrong(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let unknown = format!("Bearer {}", like(run, token));
    let in_basic = format!("Basic {token}");
    let short = "Bearer tooshort";
    let no_scheme = token.to_owned();
    let to_profile = Call::get("/v1/profile");
    let to_revoke = Call {
        method: Method::POST,
        ..Call::get("/v1/revoke")
    };
    for call in [
        to_profile.clone(),
        to_revoke.clone(),
        to_profile.clone().with_authorization(short),
        to_revoke.with_authorization(short),
    ] {
        let exchange = run.call(call).await?;
        run.refuse(R::BearerShape, &exchange, 401);
    }
    let exchange = run
        .call(to_profile.clone().with_authorization(unknown))
        .await?;
    run.refuse(R::BearerKnown, &exchange, 401);
    let in_query = format!("/v1/profile?access_token={token}");
    for call in [
        to_profile.clone().with_authorization(in_basic),
        to_profile.with_authorization(no_scheme),
        Call::get(&in_query),
    ] {
        let exchange = run.call(call).await?;
        run.refuse(R::BearerHeader, &exchange, 401);
    }
    Ok(())
}

/// A revocation, and what is left of the token.
pub(super) async fn ended(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let exchange = revoke(run, token).await?;
    if !run.succeed(R::RevokeAccepted, &exchange) {
        return Err(Stop::Blocked("a token could not be revoked".to_owned()));
    }
    let empty = that(
        exchange.answer.json() == Value::Object(serde_json::Map::new()),
        "ours is an empty object",
    );
    run.judge(R::RevokeBody, &exchange, empty);
    let exchange = profile(run, token).await?;
    run.refuse(R::BearerEnded, &exchange, 401);
    let again = revoke(run, token).await?;
    run.succeed(R::RevokeIdempotent, &again);
    let unknown = like(run, token);
    let exchange = revoke(run, &unknown).await?;
    run.succeed(R::RevokeIdempotent, &exchange);
    Ok(())
}
