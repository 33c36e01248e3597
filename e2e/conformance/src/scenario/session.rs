//! The two calls of the clean callback flow, `POST /v1/login/session` and
//! `POST /v1/login/result`, with the checks of their responses.

use super::malformed;
use crate::expect::{self, Check, ensure};
use crate::http::Exchange;
use crate::requirement::{LOGIN_LIFETIME_SECONDS, Requirement as R};
use crate::run::Run;
use crate::verdict::Stop;

/// A login that was started.
pub(super) struct Login {
    pub(super) key: String,
    pub(super) authorization_url: String,
    pub(super) provider: &'static str,
}

/// Starts a login and checks the response.
pub(super) async fn start(run: &mut Run<'_>, provider: &'static str) -> Result<Login, Stop> {
    let key = run.new_secret("session_key");
    let call = run.plan.project.backend().start(&key, provider);
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
    let has_secret = url.contains(key) || url.contains(&run.plan.project.client_secret);
    let none = ensure(!has_secret, "expected no secret in authorization_url");
    run.check(R::UrlNoSecret, exchange, none);
    Some(url.to_owned())
}

/// Starts a login, another one with its key, and others with malformed requests.
pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[0];
    let login = start(run, provider).await?;
    let backend = run.plan.project.backend();
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
    let call = run.plan.project.backend().result(key);
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
