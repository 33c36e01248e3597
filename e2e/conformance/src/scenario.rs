//! What is played: a file for each kind of login, and what each of them tries.

mod authorize;
mod bearer;
mod bent;
mod clean;
mod exchange;
mod expiry;
mod profile;
mod providers;
mod session;

use super::requirement::Requirement as R;
use super::run::Run;

/// Plays all of it. What breaks one scenario is said, and the next one is played.
pub(crate) async fn play_all(run: &mut Run<'_>) {
    run.tell("Asking for the providers, and for what does not exist");
    let outcome = providers::play(run).await;
    run.ended(providers::TRIES, outcome);

    run.tell("Starting logins, rightly and wrongly");
    let outcome = session::play(run).await;
    run.ended(session::TRIES, outcome);

    run.tell("Reading what is pending or unknown");
    let outcome = clean::pending(run).await;
    run.ended(clean::PENDING_TRIES, outcome);

    run.tell("Signing in by the clean flow");
    let outcome = clean::signed_in(run).await;
    run.ended(clean::SIGNED_IN_TRIES, outcome);

    run.tell("Signing in after a pending read");
    let outcome = clean::after_a_pending_read(run).await;
    run.ended(&[R::ResultPendingKeeps], outcome);

    run.tell("Reading a result wrongly");
    let outcome = clean::wrong_reads(run).await;
    run.ended(clean::WRONG_READS_TRIES, outcome);

    run.tell("Declining at the provider");
    let outcome = clean::declined(run).await;
    run.ended(clean::DECLINED_TRIES, outcome);

    run.tell("Opening authorize URLs that are wrong");
    let outcome = authorize::play(run).await;
    run.ended(authorize::TRIES, outcome);

    run.tell("Signing in by the legacy flow, and replaying its code");
    let outcome = exchange::replayed(run).await;
    run.ended(exchange::REPLAYED_TRIES, outcome);

    run.tell("Exchanging a code wrongly, and revoking its token");
    let outcome = exchange::wrong_exchanges(run).await;
    run.ended(exchange::WRONG_EXCHANGES_TRIES, outcome);

    run.tell("Waiting for what expires");
    let outcome = expiry::play(run).await;
    run.ended(expiry::TRIES, outcome);
}
