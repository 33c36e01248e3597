//! The clean callback flow, `POST /v1/login/session` and `POST /v1/login/result`: the two
//! calls with the checks of their responses, and the scenarios of both.

use super::sign_in::UndeliveredCallback;
use super::{malformed, profile, sign_in};
use crate::browser::{BrowserDriver, NavigationEnd};
use crate::expect::{self, Check, ensure};
use crate::http::Exchange;
use crate::project::QueuedUser;
use crate::requirement::{LOGIN_LIFETIME_SECONDS, Requirement as R};
use crate::run::Run;
use crate::verdict::Stop;

const ERRORS: &[&str] = &[
    "access_denied",
    "invalid_provider_response",
    "provider_unavailable",
];

/// A login that was started.
pub(super) struct Login {
    pub(super) key: String,
    pub(super) authorization_url: String,
    pub(super) provider: &'static str,
}

/// Starts a login and checks the response.
pub(super) async fn start(run: &mut Run<'_>, provider: &'static str) -> Result<Login, Stop> {
    let key = run.new_secret("session_key");
    let call = run.plan.project.backend.start(&key, provider);
    let exchange = run.send(call).await?;
    run.check(R::SessionStatus, &exchange, expect::status(&exchange, 200));
    if !exchange.is_success() {
        return Err(Stop::blocked("a login could not be started"));
    }
    let Some(authorization_url) = check_started(run, &exchange, &key) else {
        return Err(Stop::blocked("a login had no authorization_url"));
    };
    Ok(Login {
        key,
        authorization_url,
        provider,
    })
}

fn check_started(run: &mut Run<'_>, exchange: &Exchange, key: &str) -> Option<String> {
    let body = &exchange.body;
    let fields = ["authorization_url", "expires_in"];
    run.check_members(R::SessionFields, exchange, body, &fields);
    if body.get("expires_in").is_some() {
        let lifetime = expect::member(body, "expires_in", LOGIN_LIFETIME_SECONDS);
        run.check(R::SessionExpiresIn, exchange, lifetime);
    }
    let url = body["authorization_url"].as_str()?;
    run.check(R::AuthorizationUrlShape, exchange, expect::plain_url(url));
    let has_secret = url.contains(key) || url.contains(&run.plan.project.backend.client_secret);
    let none = ensure(!has_secret, "expected no secret in authorization_url");
    run.check(R::UrlNoSecret, exchange, none);
    Some(url.to_owned())
}

/// Starts a login, another one with its key, and others with malformed requests.
pub(super) async fn start_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[0];
    let login = start(run, provider).await?;
    let backend = &run.plan.project.backend;
    let again = backend.start(&login.key, provider);
    let exchange = run.send(again.clone()).await?;
    run.check_refusal(R::SessionKeyFresh, &exchange, 400);

    let mut rows = malformed::of_any_request(&again);
    rows.extend(malformed::of_session_key());
    rows.push(malformed::set(R::ClientIdLength, "client_id", ""));
    for provider in ["Google", "gitlab", ""] {
        rows.push(malformed::set(R::ProviderKnown, "provider", provider));
    }
    let theirs = run.or_skip(
        R::RedirectUriOwnProject,
        run.plan.callback_of_other_alone(),
        "needs a callback that is registered for a second project alone",
    );
    let theirs = theirs.map(|it| malformed::set(R::RedirectUriOwnProject, "redirect_uri", it));
    rows.extend(theirs);
    for row in rows {
        let key = run.new_secret("session_key");
        malformed::is_refused(run, backend.start(&key, provider), row).await?;
    }
    Ok(())
}

/// Reads the result under `key`.
pub(super) async fn read(run: &mut Run<'_>, key: &str) -> Result<Exchange, Stop> {
    let call = run.plan.project.backend.result(key);
    let exchange = run.send(call).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

/// Checks that a read was refused, and with 400.
pub(super) fn check_refused(run: &mut Run<'_>, requirement: R, exchange: &Exchange) {
    if run.check_refusal_of_any_status(requirement, exchange) {
        run.check(
            R::ResultRefusedStatus,
            exchange,
            expect::status(exchange, 400),
        );
    }
}

/// Checks the members of a result.
pub(super) fn check_members(run: &mut Run<'_>, exchange: &Exchange) {
    if exchange.is_success() {
        let body = &exchange.body;
        run.check(R::ResultFields, exchange, expect::login_result(body));
        if let Some(members) = expect::members_of_result(body) {
            run.check_no_members_but(exchange, body, members);
        }
    }
}

/// The result is pending.
pub(super) fn is_pending(exchange: &Exchange) -> Check {
    expect::member(&exchange.body, "status", "pending")
}

/// The result is a success.
pub(super) fn is_succeeded(exchange: &Exchange) -> Check {
    expect::success(exchange)?;
    expect::member(&exchange.body, "status", "succeeded")
}

/// Whether the login is known and not finished.
pub(super) fn is_unfinished(exchange: &Exchange) -> bool {
    let status = exchange.body["status"].as_str();
    exchange.is_success() && !matches!(status, Some("succeeded" | "failed"))
}

/// Reads a login whose browser goes nowhere, then unknown keys.
pub(super) async fn read_pending(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = start(run, run.providers[0]).await?;
    let exchange = read(run, &login.key).await?;
    run.check(R::ResultPending, &exchange, is_pending(&exchange));
    check_members(run, &exchange);
    let again = read(run, &login.key).await?;
    run.check(R::ResultPendingKeeps, &again, is_pending(&again));

    let unknown = run.new_secret("session_key");
    let exchange = read(run, &unknown).await?;
    check_refused(run, R::ResultKnown, &exchange);
    if let Some(other) = &run.plan.other {
        let exchange = run.send(other.backend.result(&login.key)).await?;
        check_refused(run, R::ResultKnown, &exchange);
    }
    Ok(())
}

/// Signs in, reads the result, and reads it again.
pub(super) async fn sign_in(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = start(run, run.providers[0]).await?;
    let end = navigate(run, &login).await?;
    check_callback(run, R::CallbackClean, &end);
    let exchange = read(run, &login.key).await?;
    let with_profile = is_succeeded(&exchange)
        .and_then(|()| ensure(exchange.body["profile"].is_object(), "expected a profile"));
    run.check(R::ResultSucceeded, &exchange, with_profile);
    check_members(run, &exchange);
    let user = QueuedUser::default_at(login.provider);
    check_profile(run, &exchange, login.provider, user);
    let again = read(run, &login.key).await?;
    check_refused(run, R::ResultOnce, &again);
    Ok(())
}

/// Signs in with the other provider, after a read that came too early.
pub(super) async fn sign_in_after_pending_read(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[run.providers.len() - 1];
    let login = start(run, provider).await?;
    read(run, &login.key).await?;
    let end = navigate(run, &login).await?;
    check_callback(run, R::CallbackClean, &end);
    let exchange = read(run, &login.key).await?;
    let succeeded = is_succeeded(&exchange);
    run.check(R::ResultPendingKeeps, &exchange, succeeded);
    if check_profile(run, &exchange, provider, QueuedUser::default_at(provider)) {
        check_members(run, &exchange);
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
            let login = start(run, provider).await?;
            let url = &login.authorization_url;
            let mut pending = sign_in::up_to_callback(run, url, provider, user).await?;
            pending.deliver(run).await?;
            let exchange = read(run, &login.key).await?;
            check_profile(run, &exchange, provider, user);
        }
    }
    Ok(())
}

/// Sends every malformed read, then the good one.
pub(super) async fn read_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let backend = &run.plan.project.backend;
    let mut rows = malformed::of_any_request(&backend.result(""));
    rows.extend(malformed::of_session_key());
    rows.push(malformed::set(R::ClientIdLength, "client_id", ""));
    rows.extend(malformed::with_second_callback(run, R::ResultCallback));
    let mut rows = rows.into_iter();
    for _ in 0..malformed::MAX_LOGINS {
        let login = start(run, run.providers[0]).await?;
        navigate(run, &login).await?;
        let good = backend.result(&login.key);
        if malformed::are_refused(run, &good, &mut rows).await? {
            let exchange = read(run, &login.key).await?;
            let kept = is_succeeded(&exchange);
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
    let login = start(run, run.providers[0]).await?;
    let end = sign_in::decline(run, &login.authorization_url, login.provider).await?;
    check_callback(run, R::CallbackCleanAfterFailure, &end);
    let exchange = read(run, &login.key).await?;
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
    check_members(run, &exchange);
    let again = read(run, &login.key).await?;
    check_refused(run, R::ResultOnce, &again);
    Ok(())
}

/// Sends the browser of this login through the provider, as the default user.
pub(super) async fn navigate(run: &mut Run<'_>, login: &Login) -> Result<NavigationEnd, Stop> {
    sign_in::sign_in(run, &login.authorization_url, login.provider).await
}

/// The same by the runner's own HTTP client, up to the upstream callback.
pub(super) async fn up_to_callback(
    run: &mut Run<'_>,
    login: &Login,
) -> Result<UndeliveredCallback, Stop> {
    let user = QueuedUser::default_at(login.provider);
    sign_in::up_to_callback(run, &login.authorization_url, login.provider, user).await
}

fn check_callback(run: &mut Run<'_>, requirement: R, end: &NavigationEnd) {
    let Some(url) = &end.url else {
        return run.skip(&[requirement], "the address of the callback was not pasted");
    };
    let backend = &run.plan.project.backend;
    let is_exact = ensure(
        *url == backend.callback,
        format!("expected exactly {}", backend.callback),
    );
    run.check_by(requirement, end.evidence.clone(), is_exact);
    let none = ensure(!url.contains(&backend.client_secret), "expected no secret");
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
