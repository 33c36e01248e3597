//! The scenarios: one file for each kind of login, with the requirements that it
//! covers.

mod accounts;
mod authorize;
mod bearer;
mod clean;
mod delivery;
mod exchange;
mod expiry;
mod malformed;
mod profile;
mod providers;
mod result;
mod session;
mod sign_in;

use super::requirement::Requirement as R;
use super::run::Run;

/// Plays every scenario. One that ends early does not stop the others.
pub(crate) async fn play_all(run: &mut Run<'_>) {
    run.report_progress("Reading the providers, and paths that do not exist");
    let end = providers::play(run).await;
    run.end_scenario(providers::COVERS, end);

    run.report_progress("Starting logins, with good and with malformed requests");
    let end = session::play(run).await;
    run.end_scenario(session::COVERS, end);

    run.report_progress("Reading pending and unknown results");
    let end = clean::read_pending(run).await;
    run.end_scenario(clean::READ_PENDING_COVERS, end);

    run.report_progress("Signing in by the clean flow");
    let end = clean::sign_in(run).await;
    run.end_scenario(clean::SIGN_IN_COVERS, end);

    run.report_progress("Signing in after a pending read");
    let end = clean::sign_in_after_pending_read(run).await;
    run.end_scenario(&[R::ResultPendingKeeps], end);

    run.report_progress("Signing in as further users");
    let end = accounts::play(run).await;
    run.end_scenario(accounts::COVERS, end);

    run.report_progress("Reading a result with malformed requests");
    let end = clean::read_malformed(run).await;
    run.end_scenario(clean::READ_MALFORMED_COVERS, end);

    run.report_progress("Declining at the provider");
    let end = clean::decline(run).await;
    run.end_scenario(clean::DECLINE_COVERS, end);

    run.report_progress("Opening malformed authorize URLs");
    let end = authorize::play(run).await;
    run.end_scenario(authorize::COVERS, end);

    run.report_progress("Signing in by the legacy flow, and replaying its code");
    let end = exchange::replay(run).await;
    run.end_scenario(exchange::REPLAY_COVERS, end);

    run.report_progress("Exchanging a code with malformed requests, and revoking its token");
    let end = exchange::exchange_malformed(run).await;
    run.end_scenario(exchange::EXCHANGE_MALFORMED_COVERS, end);

    run.report_progress("Delivering a provider's answer in another browser");
    let end = delivery::elsewhere(run).await;
    run.end_scenario(delivery::ELSEWHERE_COVERS, end);

    run.report_progress("Delivering a provider's answer by HEAD");
    let end = delivery::by_head(run).await;
    run.end_scenario(&[R::BrowserHead], end);

    run.report_progress("Delivering a provider's answer twice");
    let end = delivery::twice(run).await;
    run.end_scenario(&[R::UpstreamLoginOnce], end);

    run.report_progress("Waiting for the end of logins and tokens");
    let end = expiry::play(run).await;
    run.end_scenario(expiry::COVERS, end);
}
