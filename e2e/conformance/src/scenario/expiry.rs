//! What expires, on one line of time: sessions after 600 seconds, tokens after
//! 900.

use std::time::Duration;

use super::{bearer, clean, exchange, session};
use crate::browser::Aim;
use crate::expect::{self, that};
use crate::plan::Expiry;
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop};

pub(super) const TRIES: &[R] = &[
    R::SessionLifetime,
    R::ResultExpiry,
    R::CodeExpiry,
    R::TokenLifetime,
    R::BearerExpiry,
];

/// How far before an end something is still expected to be there: requests take
/// time, and clocks differ.
const MARGIN: u64 = 15;

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.expiry == Expiry::LeftOut {
        return Err(Stop::Blocked(
            "needs a clock that can be moved (--control), or a quarter of an hour (--slow)"
                .to_owned(),
        ));
    }
    // What needs a person comes first: only the end of these is looked at.
    let provider = run.providers[0];
    let finished = session::start(run, provider).await?;
    clean::travel(run, &finished, Aim::SignIn).await?;
    let late = exchange::obtain(run, provider).await?;
    let coded = exchange::obtain(run, provider).await?;
    let token = exchange::token(run, &coded).await?;
    let pending = session::start(run, provider).await?;

    wait(run, 600 - MARGIN).await?;
    let answer = clean::read(run, &pending.key).await?;
    let alive = expect::member(&answer.answer.json(), "status", "pending");
    run.judge(R::SessionLifetime, &answer, alive);
    let answer = exchange::redeem(run, &late).await?;
    let ended = that(!answer.answer.is_success(), "ours lives 60 seconds");
    run.judge(R::CodeExpiry, &answer, ended);

    wait(run, MARGIN + 1).await?;
    for login in [&pending, &finished] {
        let answer = clean::read(run, &login.key).await?;
        clean::refuse_read(run, R::ResultExpiry, &answer);
    }

    wait(run, 300 - MARGIN - 1).await?;
    let answer = bearer::profile(run, &token).await?;
    let alive = expect::success(&answer.answer);
    run.judge(R::TokenLifetime, &answer, alive);

    wait(run, MARGIN + 1).await?;
    let answer = bearer::profile(run, &token).await?;
    run.refuse(R::BearerExpiry, &answer, 401);
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a foreign broker's clock is moved by time alone; who asks for --slow wants it"
)]
async fn wait(run: &mut Run<'_>, seconds: u64) -> Result<(), Stop> {
    match (&run.plan.control, run.plan.expiry) {
        (Some(control), Expiry::ByControl) => control.advance(&run.http, seconds).await,
        _ => {
            run.tell(&format!("Waiting {seconds} seconds for what expires"));
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(())
        }
    }
}
