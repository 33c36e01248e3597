//! Expiry, on one timeline: first of logins, then of tokens.

use std::time::Duration;

use super::{clean, delivery, legacy};
use crate::expect::{self, ensure};
use crate::requirement::{
    CODE_LIFETIME_SECONDS, LOGIN_LIFETIME_SECONDS, Requirement as R, TOKEN_LIFETIME_SECONDS,
};
use crate::run::{Expiry, Run};
use crate::verdict::Stop;

/// The time before an end at which something must still be alive: requests take time,
/// and clocks differ.
const MARGIN_SECONDS: u32 = 15;

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.expiry == Expiry::LeftOut {
        return Err(Stop::blocked(
            "needs a clock that can be moved (--control), or a quarter of an hour (--slow)",
        ));
    }
    // The browser comes first: a user may be slow, and only the ends are tested.
    let provider = run.providers[0];
    let finished = clean::start(run, provider).await?;
    clean::navigate(run, &finished).await?;
    let late = legacy::obtain_code(run, provider).await?;
    let code = legacy::obtain_code(run, provider).await?;
    let token = legacy::obtain_token(run, &code).await?;
    let pending = clean::start(run, provider).await?;
    let undelivered = delivery::start_legacy(run).await;

    wait(run, LOGIN_LIFETIME_SECONDS - MARGIN_SECONDS).await?;
    let exchange = clean::read(run, &pending.key).await?;
    run.check(R::SessionLifetime, &exchange, clean::is_pending(&exchange));
    let exchange = legacy::redeem(run, &late).await?;
    let expected = format!("this kit's codes live {CODE_LIFETIME_SECONDS} seconds");
    let ended = ensure(!exchange.is_success(), expected);
    run.check(R::CodeExpiry, &exchange, ended);

    wait(run, MARGIN_SECONDS + 1).await?;
    for login in [&pending, &finished] {
        let exchange = clean::read(run, &login.key).await?;
        clean::check_refused(run, R::ResultExpiry, &exchange);
    }

    let end = match undelivered {
        Ok((_, callback)) => delivery::late(run, callback).await,
        Err(stop) => Err(stop),
    };
    run.end_scenario(&[R::UpstreamLoginExpiry], end);

    wait(
        run,
        TOKEN_LIFETIME_SECONDS - LOGIN_LIFETIME_SECONDS - MARGIN_SECONDS - 1,
    )
    .await?;
    let exchange = legacy::read_profile(run, &token).await?;
    run.check(R::TokenLifetime, &exchange, expect::success(&exchange));

    wait(run, MARGIN_SECONDS + 1).await?;
    let exchange = legacy::read_profile(run, &token).await?;
    run.check_refusal(R::BearerExpiry, &exchange, 401);
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "only time moves another broker's clock, and --slow asks for it"
)]
async fn wait(run: &mut Run<'_>, seconds: u32) -> Result<(), Stop> {
    match (&run.plan.control, run.plan.expiry) {
        (Some(control), Expiry::ByControl) => Ok(control.advance(seconds.into()).await?),
        _ => {
            run.report_progress(&format!("Waiting {seconds} seconds"));
            tokio::time::sleep(Duration::from_secs(seconds.into())).await;
            Ok(())
        }
    }
}
