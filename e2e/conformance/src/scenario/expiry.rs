//! Expiry, on one timeline: logins after 600 seconds, tokens after 900.

use std::time::Duration;

use super::{bearer, clean, delivery, exchange, result, session};
use crate::error::Stop;
use crate::expect::{self, ensure};
use crate::plan::Expiry;
use crate::requirement::Requirement as R;
use crate::run::Run;

pub(super) const COVERS: &[R] = &[
    R::SessionLifetime,
    R::ResultExpiry,
    R::CodeExpiry,
    R::UpstreamLoginExpiry,
    R::TokenLifetime,
    R::BearerExpiry,
];

/// The time before an end at which something must still be alive: requests take time,
/// and clocks differ.
const MARGIN_SECONDS: u64 = 15;

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.expiry == Expiry::LeftOut {
        return Err(Stop::Blocked(
            "needs a clock that can be moved (--control), or a quarter of an hour (--slow)"
                .to_owned(),
        ));
    }
    // The browser comes first: a user may be slow, and only the ends are tested.
    let provider = run.providers[0];
    let finished = session::start(run, provider).await?;
    clean::navigate(run, &finished).await?;
    let late = exchange::obtain_code(run, provider).await?;
    let code = exchange::obtain_code(run, provider).await?;
    let token = exchange::obtain_token(run, &code).await?;
    let pending = session::start(run, provider).await?;
    let undelivered = delivery::start_legacy(run).await;

    wait(run, 600 - MARGIN_SECONDS).await?;
    let exchange = result::read(run, &pending.key).await?;
    let alive = expect::member(&exchange.response.json(), "status", "pending");
    run.check(R::SessionLifetime, &exchange, alive);
    let exchange = exchange::redeem(run, &late).await?;
    let ended = ensure(
        !exchange.response.is_success(),
        "this kit's codes live 60 seconds",
    );
    run.check(R::CodeExpiry, &exchange, ended);

    wait(run, MARGIN_SECONDS + 1).await?;
    for login in [&pending, &finished] {
        let exchange = result::read(run, &login.key).await?;
        result::check_refused(run, R::ResultExpiry, &exchange);
    }

    let end = match undelivered {
        Ok(callback) => delivery::late(run, callback).await,
        Err(stop) => Err(stop),
    };
    run.end_scenario(&[R::UpstreamLoginExpiry], end);

    wait(run, 300 - MARGIN_SECONDS - 1).await?;
    let exchange = bearer::profile(run, &token).await?;
    let alive = expect::success(&exchange.response);
    run.check(R::TokenLifetime, &exchange, alive);

    wait(run, MARGIN_SECONDS + 1).await?;
    let exchange = bearer::profile(run, &token).await?;
    run.check_refusal(R::BearerExpiry, &exchange, 401);
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "only time moves another broker's clock, and --slow asks for it"
)]
async fn wait(run: &mut Run<'_>, seconds: u64) -> Result<(), Stop> {
    match (&run.plan.control, run.plan.expiry) {
        (Some(control), Expiry::ByControl) => control.advance(&run.http, seconds).await,
        _ => {
            run.report_progress(&format!("Waiting {seconds} seconds"));
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(())
        }
    }
}
