//! The clean callback flow.

use super::malformed::{self, MalformedRequest};
use super::result::{self, FIELDS, PATH};
use super::session::{self, Login};
use super::{profile, sign_in};
use crate::browser::{BrowserDriver, NavigationEnd};
use crate::error::Stop;
use crate::expect::{self, ensure};
use crate::http::RawRequest;
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::users::QueuedUser;

pub(super) const READ_PENDING_COVERS: &[R] = &[
    R::ResultPending,
    R::ResultPendingKeeps,
    R::ResultKnown,
    R::ResultRefusedStatus,
];

pub(super) const SIGN_IN_COVERS: &[R] = &[
    R::CallbackClean,
    R::ResultSucceeded,
    R::ResultFields,
    R::ResultOnce,
    R::ProfileFields,
    R::ProfileTypes,
    R::ProfileProvider,
    R::ProfileSubjectForm,
];

pub(super) const READ_MALFORMED_COVERS: &[R] = &[R::ResultCallback, R::ResultRefusedKeeps];

pub(super) const DECLINE_COVERS: &[R] = &[
    R::CallbackCleanAfterFailure,
    R::ResultFailed,
    R::UpstreamDenied,
];

const ERRORS: &[&str] = &[
    "access_denied",
    "invalid_provider_response",
    "provider_unavailable",
];

/// The number of logins that a broker may cost which serves malformed requests: each
/// of them consumes one.
const MAX_LOGINS: usize = 4;

/// Reads a login whose browser goes nowhere, then unknown keys.
pub(super) async fn read_pending(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let exchange = result::read(run, &login.key).await?;
    let pending = result::is_pending(&exchange);
    run.check(R::ResultPending, &exchange, pending);
    result::check_members(run, &exchange, &exchange.response.json());
    let again = result::read(run, &login.key).await?;
    let still = result::is_pending(&again);
    run.check(R::ResultPendingKeeps, &again, still);

    let unknown = run.new_secret("session_key");
    let exchange = result::read(run, &unknown).await?;
    result::check_refused(run, R::ResultKnown, &exchange);
    if let Some(other) = run.other() {
        let body = other.result_request(&login.key);
        let exchange = run.send(RawRequest::post(PATH, body)).await?;
        result::check_refused(run, R::ResultKnown, &exchange);
    }
    Ok(())
}

/// Signs in, reads the result, and reads it again.
pub(super) async fn sign_in(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let end = navigate(run, &login).await?;
    check_callback(run, R::CallbackClean, &end);
    let exchange = result::read(run, &login.key).await?;
    let body = exchange.response.json();
    let with_profile = result::is_succeeded(&exchange, &body)
        .and_then(|()| ensure(body["profile"].is_object(), "expected a profile"));
    run.check(R::ResultSucceeded, &exchange, with_profile);
    result::check_members(run, &exchange, &body);
    if body["profile"].is_object() {
        let user = QueuedUser::default_at(login.provider);
        profile::check(run, &exchange, &body["profile"], login.provider, user);
    }
    let again = result::read(run, &login.key).await?;
    result::check_refused(run, R::ResultOnce, &again);
    Ok(())
}

/// Signs in with the other provider, after a read that came too early.
pub(super) async fn sign_in_after_pending_read(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[run.providers.len() - 1];
    let login = session::start(run, provider).await?;
    result::read(run, &login.key).await?;
    let end = navigate(run, &login).await?;
    check_callback(run, R::CallbackClean, &end);
    let exchange = result::read(run, &login.key).await?;
    let body = exchange.response.json();
    let succeeded = result::is_succeeded(&exchange, &body);
    run.check(R::ResultPendingKeeps, &exchange, succeeded);
    if body["profile"].is_object() {
        result::check_members(run, &exchange, &body);
        let user = QueuedUser::default_at(provider);
        profile::check(run, &exchange, &body["profile"], provider, user);
    }
    Ok(())
}

/// Sends every malformed read, then the good one.
pub(super) async fn read_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let mut left = malformed_reads(run);
    left.reverse();
    for _ in 0..MAX_LOGINS {
        let login = session::start(run, run.providers[0]).await?;
        navigate(run, &login).await?;
        if refuses_all(run, &login, &mut left).await? {
            let exchange = result::read(run, &login.key).await?;
            let kept = result::is_succeeded(&exchange, &exchange.response.json());
            run.check(R::ResultRefusedKeeps, &exchange, kept);
            return Ok(());
        }
    }
    Err(Stop::Blocked(
        "too many malformed reads were served".to_owned(),
    ))
}

/// Sends what is left until a request is served. Returns whether none was.
async fn refuses_all(
    run: &mut Run<'_>,
    login: &Login,
    left: &mut Vec<MalformedRequest>,
) -> Result<bool, Stop> {
    while let Some(malformed) = left.pop() {
        let body = run.plan.project.result_request(&login.key);
        let exchange = run.send(malformed.made_from(body)).await?;
        if !run.check_refusal(malformed.requirement, &exchange, malformed.kit_status) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn malformed_reads(run: &mut Run<'_>) -> Vec<MalformedRequest> {
    let project = &run.plan.project;
    let mut all = malformed::any_request(PATH, FIELDS, project, 400);
    all.extend(malformed::session_keys(PATH));
    all.push(MalformedRequest::field(
        R::ClientIdLength,
        PATH,
        "client_id",
        "",
    ));
    match &project.second_callback {
        Some(second) => all.push(MalformedRequest::field(
            R::ResultCallback,
            PATH,
            "redirect_uri",
            second,
        )),
        None => run.skip(
            &[R::ResultCallback],
            "needs a second registered callback of the project",
        ),
    }
    all
}

/// Lets the user decline at the provider.
pub(super) async fn decline(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.control.is_none() && matches!(run.plan.browser, BrowserDriver::Automatic) {
        return Err(Stop::Blocked(
            "needs a user who declines: --control, or --browser person or webdriver".to_owned(),
        ));
    }
    let login = session::start(run, run.providers[0]).await?;
    let end = sign_in::decline(run, &login.authorization_url, login.provider).await?;
    check_callback(run, R::CallbackCleanAfterFailure, &end);
    let exchange = result::read(run, &login.key).await?;
    let body = exchange.response.json();
    let error = body["error"].as_str().unwrap_or_default();
    let is_failed = expect::success(&exchange.response)
        .and_then(|()| expect::member(&body, "status", "failed"))
        .and_then(|()| ensure(ERRORS.contains(&error), "expected one of the three errors"));
    run.check(R::ResultFailed, &exchange, is_failed);
    if ERRORS.contains(&error) {
        let denied = expect::member(&body, "error", "access_denied");
        run.check(R::UpstreamDenied, &exchange, denied);
    }
    result::check_members(run, &exchange, &body);
    let again = result::read(run, &login.key).await?;
    result::check_refused(run, R::ResultOnce, &again);
    Ok(())
}

/// Sends the browser of this login through the provider, as the default user.
pub(super) async fn navigate(run: &mut Run<'_>, login: &Login) -> Result<NavigationEnd, Stop> {
    let user = QueuedUser::default_at(login.provider);
    sign_in::sign_in(run, &login.authorization_url, login.provider, user).await
}

fn check_callback(run: &mut Run<'_>, requirement: R, end: &NavigationEnd) {
    match &end.url {
        Some(url) => {
            let callback = &run.plan.project.callback;
            let is_exact = ensure(url == callback, format!("expected exactly {callback}"));
            run.check_by(requirement, end.evidence.clone(), is_exact);
            let secret = &run.plan.project.client_secret;
            let none = ensure(!url.contains(secret.as_str()), "expected no secret");
            run.check_by(R::UrlNoSecret, end.evidence.clone(), none);
        }
        None => run.skip(&[requirement], "the address of the callback was not pasted"),
    }
}
