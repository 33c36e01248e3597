//! The scenarios of the clean callback flow.

use super::session::{self, Login};
use super::{malformed, profile, sign_in};
use crate::browser::{BrowserDriver, NavigationEnd};
use crate::expect::{self, ensure};
use crate::http::Exchange;
use crate::project::QueuedUser;
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::verdict::Stop;

const ERRORS: &[&str] = &[
    "access_denied",
    "invalid_provider_response",
    "provider_unavailable",
];

/// Reads a login whose browser goes nowhere, then unknown keys.
pub(super) async fn read_pending(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let exchange = session::read(run, &login.key).await?;
    run.check(R::ResultPending, &exchange, session::is_pending(&exchange));
    session::check_members(run, &exchange);
    let again = session::read(run, &login.key).await?;
    run.check(R::ResultPendingKeeps, &again, session::is_pending(&again));

    let unknown = run.new_secret("session_key");
    let exchange = session::read(run, &unknown).await?;
    session::check_refused(run, R::ResultKnown, &exchange);
    if let Some(other) = &run.plan.other {
        let exchange = run.send(other.backend().result(&login.key)).await?;
        session::check_refused(run, R::ResultKnown, &exchange);
    }
    Ok(())
}

/// Signs in, reads the result, and reads it again.
pub(super) async fn sign_in(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let end = navigate(run, &login).await?;
    check_callback(run, R::CallbackClean, &end);
    let exchange = session::read(run, &login.key).await?;
    let with_profile = session::is_succeeded(&exchange)
        .and_then(|()| ensure(exchange.body["profile"].is_object(), "expected a profile"));
    run.check(R::ResultSucceeded, &exchange, with_profile);
    session::check_members(run, &exchange);
    let user = QueuedUser::default_at(login.provider);
    check_profile(run, &exchange, login.provider, user);
    let again = session::read(run, &login.key).await?;
    session::check_refused(run, R::ResultOnce, &again);
    Ok(())
}

/// Signs in with the other provider, after a read that came too early.
pub(super) async fn sign_in_after_pending_read(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[run.providers.len() - 1];
    let login = session::start(run, provider).await?;
    session::read(run, &login.key).await?;
    let end = navigate(run, &login).await?;
    check_callback(run, R::CallbackClean, &end);
    let exchange = session::read(run, &login.key).await?;
    let succeeded = session::is_succeeded(&exchange);
    run.check(R::ResultPendingKeeps, &exchange, succeeded);
    if check_profile(run, &exchange, provider, QueuedUser::default_at(provider)) {
        session::check_members(run, &exchange);
    }
    Ok(())
}

/// Signs further users in with each provider: an account whose names and address changed,
/// and another account with the address of the first.
pub(super) async fn sign_in_further_users(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.control.is_none() {
        return Err(Stop::blocked(
            "needs users whose accounts are known: --control",
        ));
    }
    for provider in run.providers.clone() {
        for user in QueuedUser::FURTHER {
            let login = session::start(run, provider).await?;
            let url = &login.authorization_url;
            let mut pending = sign_in::up_to_callback(run, url, provider, user).await?;
            pending.deliver(run).await?;
            let exchange = session::read(run, &login.key).await?;
            check_profile(run, &exchange, provider, user);
        }
    }
    Ok(())
}

/// Sends every malformed read, then the good one.
pub(super) async fn read_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let backend = run.plan.project.backend();
    let mut rows = malformed::of_any_request(&backend.result(""));
    rows.extend(malformed::of_session_key());
    rows.push(malformed::set(R::ClientIdLength, "client_id", ""));
    rows.extend(malformed::with_second_callback(run, R::ResultCallback));
    let mut rows = rows.into_iter();
    for _ in 0..malformed::MAX_LOGINS {
        let login = session::start(run, run.providers[0]).await?;
        navigate(run, &login).await?;
        let read = backend.result(&login.key);
        if malformed::are_refused(run, &read, &mut rows).await? {
            let exchange = session::read(run, &login.key).await?;
            let kept = session::is_succeeded(&exchange);
            run.check(R::ResultRefusedKeeps, &exchange, kept);
            return Ok(());
        }
    }
    Err(Stop::blocked("too many malformed reads were served"))
}

/// Lets the user decline at the provider.
pub(super) async fn decline(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.control.is_none() && matches!(run.plan.browser, BrowserDriver::Automatic) {
        return Err(Stop::blocked(
            "needs a user who declines: --control, or --browser person or webdriver",
        ));
    }
    let login = session::start(run, run.providers[0]).await?;
    let end = sign_in::decline(run, &login.authorization_url, login.provider).await?;
    check_callback(run, R::CallbackCleanAfterFailure, &end);
    let exchange = session::read(run, &login.key).await?;
    let body = &exchange.body;
    let is_known = body["error"]
        .as_str()
        .is_some_and(|it| ERRORS.contains(&it));
    let is_failed = expect::success(&exchange)
        .and_then(|()| expect::member(body, "status", "failed"))
        .and_then(|()| ensure(is_known, "expected one of the three errors"));
    run.check(R::ResultFailed, &exchange, is_failed);
    if is_known {
        let denied = expect::member(body, "error", "access_denied");
        run.check(R::UpstreamDenied, &exchange, denied);
    }
    session::check_members(run, &exchange);
    let again = session::read(run, &login.key).await?;
    session::check_refused(run, R::ResultOnce, &again);
    Ok(())
}

/// Sends the browser of this login through the provider, as the default user.
pub(super) async fn navigate(run: &mut Run<'_>, login: &Login) -> Result<NavigationEnd, Stop> {
    sign_in::sign_in(run, &login.authorization_url, login.provider).await
}

fn check_callback(run: &mut Run<'_>, requirement: R, end: &NavigationEnd) {
    let Some(url) = &end.url else {
        return run.skip(&[requirement], "the address of the callback was not pasted");
    };
    let project = &run.plan.project;
    let is_exact = ensure(
        *url == project.callback,
        format!("expected exactly {}", project.callback),
    );
    run.check_by(requirement, end.evidence.clone(), is_exact);
    let none = ensure(!url.contains(&project.client_secret), "expected no secret");
    run.check_by(R::UrlNoSecret, end.evidence.clone(), none);
}

/// Checks the profile in a result. Returns whether there is one.
fn check_profile(
    run: &mut Run<'_>,
    exchange: &Exchange,
    provider: &str,
    user: &QueuedUser,
) -> bool {
    let profile = &exchange.body["profile"];
    if profile.is_object() {
        profile::check(run, exchange, profile, provider, user);
    }
    profile.is_object()
}
