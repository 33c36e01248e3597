//! The clean callback flow.

use serde_json::{Value, json};

use super::bent::{self, Bent};
use super::profile;
use super::session::{self, Login};
use crate::browser::{self, Aim, Browser, Journey};
use crate::expect::{self, that};
use crate::http::{Call, Exchange};
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop};

const PATH: &str = "/v1/login/result";

const FIELDS: &[&str] = &["client_id", "client_secret", "session_key", "redirect_uri"];

pub(super) const PENDING_TRIES: &[R] = &[
    R::ResultPending,
    R::ResultPendingKeeps,
    R::ResultKnown,
    R::ResultRefusedStatus,
];

pub(super) const SIGNED_IN_TRIES: &[R] = &[
    R::CallbackClean,
    R::ResultSucceeded,
    R::ResultFields,
    R::ResultOnce,
    R::ProfileFields,
    R::ProfileTypes,
    R::ProfileProvider,
    R::SubjectForm,
];

pub(super) const WRONG_READS_TRIES: &[R] = &[R::ResultCallback, R::ResultRefusedKeeps];

pub(super) const DECLINED_TRIES: &[R] = &[
    R::CallbackCleanAfterFailure,
    R::ResultFailed,
    R::UpstreamDenied,
];

/// A broker that serves what it should refuse costs a login each time. No more
/// than these are spent.
const MOST_LOGINS: usize = 4;

/// Nobody goes anywhere; keys that nobody started a login with.
pub(super) async fn pending(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let exchange = read(run, &login.key).await?;
    let body = exchange.answer.json();
    let is_pending = expect::member(&body, "status", "pending");
    run.judge(R::ResultPending, &exchange, is_pending);
    judge_members(run, &exchange, &body);
    let again = read(run, &login.key).await?;
    let still = expect::member(&again.answer.json(), "status", "pending");
    run.judge(R::ResultPendingKeeps, &again, still);

    let unknown = run.fresh("session_key");
    let exchange = read(run, &unknown).await?;
    refuse_read(run, R::ResultKnown, &exchange);
    if let Some(other) = run.other() {
        let request = other.result_request(&login.key);
        let exchange = run.call(Call::post(PATH, request)).await?;
        refuse_read(run, R::ResultKnown, &exchange);
    }
    Ok(())
}

/// A sign-in, its result, and the result again.
pub(super) async fn signed_in(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[0];
    let login = session::start(run, provider).await?;
    let journey = travel(run, &login, Aim::SignIn).await?;
    judge_callback(run, R::CallbackClean, &journey);
    let exchange = read(run, &login.key).await?;
    let body = exchange.answer.json();
    let with_profile = succeeded(&exchange, &body)
        .and_then(|()| that(body["profile"].is_object(), "expected a profile"));
    run.judge(R::ResultSucceeded, &exchange, with_profile);
    judge_members(run, &exchange, &body);
    if body["profile"].is_object() {
        profile::judge(run, &exchange, &body["profile"], provider);
    }
    let again = read(run, &login.key).await?;
    refuse_read(run, R::ResultOnce, &again);
    Ok(())
}

/// The same, with the other provider, by a backend that asked too early.
pub(super) async fn after_a_pending_read(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[run.providers.len() - 1];
    let login = session::start(run, provider).await?;
    read(run, &login.key).await?;
    let journey = travel(run, &login, Aim::SignIn).await?;
    judge_callback(run, R::CallbackClean, &journey);
    let exchange = read(run, &login.key).await?;
    let body = exchange.answer.json();
    let succeeded = succeeded(&exchange, &body);
    run.judge(R::ResultPendingKeeps, &exchange, succeeded);
    if body["profile"].is_object() {
        judge_members(run, &exchange, &body);
        profile::judge(run, &exchange, &body["profile"], provider);
    }
    Ok(())
}

/// Everything that may not be served is asked for, and then what may.
pub(super) async fn wrong_reads(run: &mut Run<'_>) -> Result<(), Stop> {
    let mut left = all_bent(run);
    left.reverse();
    for _ in 0..MOST_LOGINS {
        let login = session::start(run, run.providers[0]).await?;
        travel(run, &login, Aim::SignIn).await?;
        if refuse_all(run, &login, &mut left).await? {
            let exchange = read(run, &login.key).await?;
            let body = exchange.answer.json();
            let kept = succeeded(&exchange, &body);
            run.judge(R::ResultRefusedKeeps, &exchange, kept);
            return Ok(());
        }
    }
    Err(Stop::Blocked("too many wrong reads were served".to_owned()))
}

/// Sends what is left until something is served. Whether nothing was.
async fn refuse_all(run: &mut Run<'_>, login: &Login, left: &mut Vec<Bent>) -> Result<bool, Stop> {
    while let Some(bent) = left.pop() {
        let right = run.plan.project.result_request(&login.key);
        let exchange = run.call(bent.apply(right)).await?;
        if !run.refuse(bent.requirement, &exchange, bent.our_status) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn all_bent(run: &mut Run<'_>) -> Vec<Bent> {
    let project = &run.plan.project;
    let mut all = bent::any_request(PATH, FIELDS, project, 400);
    all.extend(session::bent_keys(PATH));
    all.push(Bent::field(R::ClientIdLength, PATH, "client_id", ""));
    match &project.second_callback {
        Some(second) => {
            let second = second.clone();
            all.push(Bent::field(R::ResultCallback, PATH, "redirect_uri", second));
        }
        None => run.skip(
            &[R::ResultCallback],
            "needs a second registered callback of the project",
        ),
    }
    all
}

/// A person who declines.
pub(super) async fn declined(run: &mut Run<'_>) -> Result<(), Stop> {
    if run.plan.control.is_none() && matches!(run.plan.browser, Browser::Automatic) {
        return Err(Stop::Blocked(
            "needs somebody who declines: --control, or --browser person or webdriver".to_owned(),
        ));
    }
    let login = session::start(run, run.providers[0]).await?;
    let journey = travel(run, &login, Aim::Decline).await?;
    judge_callback(run, R::CallbackCleanAfterFailure, &journey);
    let exchange = read(run, &login.key).await?;
    let body = exchange.answer.json();
    let error = body["error"].as_str().unwrap_or_default();
    let is_failed = expect::success(&exchange.answer)
        .and_then(|()| expect::member(&body, "status", "failed"))
        .and_then(|()| that(ERRORS.contains(&error), "expected one of the three errors"));
    run.judge(R::ResultFailed, &exchange, is_failed);
    if ERRORS.contains(&error) {
        let denied = expect::member(&body, "error", "access_denied");
        run.judge(R::UpstreamDenied, &exchange, denied);
    }
    judge_members(run, &exchange, &body);
    let again = read(run, &login.key).await?;
    refuse_read(run, R::ResultOnce, &again);
    Ok(())
}

const ERRORS: &[&str] = &[
    "access_denied",
    "invalid_provider_response",
    "provider_unavailable",
];

/// Reads the result under `key`.
pub(super) async fn read(run: &mut Run<'_>, key: &str) -> Result<Exchange, Stop> {
    let exchange = run
        .call(Call::post(PATH, run.plan.project.result_request(key)))
        .await?;
    run.success_status(&exchange);
    Ok(exchange)
}

/// Judges that a read was refused, and with 400.
pub(super) fn refuse_read(run: &mut Run<'_>, requirement: R, exchange: &Exchange) {
    if run.refuse_anyhow(requirement, exchange) {
        let status = expect::status(&exchange.answer, 400);
        run.judge(R::ResultRefusedStatus, exchange, status);
    }
}

/// Sends this login's browser to the provider and home, as the next person in
/// line if there is a control address.
pub(super) async fn travel(run: &mut Run<'_>, login: &Login, aim: Aim) -> Result<Journey, Stop> {
    queue(run, login.provider, aim).await?;
    browser::go(run, &login.authorization_url, aim).await
}

/// Says who signs in next: always the same account with each provider, and with
/// Google one of which little is known.
pub(super) async fn queue(run: &mut Run<'_>, provider: &str, aim: Aim) -> Result<(), Stop> {
    let Some(control) = &run.plan.control else {
        return Ok(());
    };
    let next = match (aim, provider) {
        (Aim::Decline, _) => json!({ "misbehave": "deny" }),
        (Aim::SignIn, "google") => json!({ "person": { "id": "104242" } }),
        (Aim::SignIn, _) => json!({ "person": {
            "id": "104242",
            "name": "Conformance",
            "username": "conformance",
            "email": "conformance@app.example",
            "email_verified": true,
            "picture": "https://app.example/conformance.png",
        } }),
    };
    control.next(&run.http, provider, &next).await
}

fn judge_callback(run: &mut Run<'_>, requirement: R, journey: &Journey) {
    match &journey.url {
        Some(url) => {
            let callback = &run.plan.project.callback;
            let holds = that(url == callback, format!("expected exactly {callback}"));
            run.judge_by(requirement, journey.evidence.clone(), holds);
            let secret = &run.plan.project.client_secret;
            let holds = that(!url.contains(secret.as_str()), "expected no secret");
            run.judge_by(R::UrlNoSecret, journey.evidence.clone(), holds);
        }
        None => run.skip(&[requirement], "nobody said where the browser came back to"),
    }
}

fn succeeded(exchange: &Exchange, body: &Value) -> Result<(), String> {
    expect::success(&exchange.answer)?;
    expect::member(body, "status", "succeeded")
}

fn judge_members(run: &mut Run<'_>, exchange: &Exchange, body: &Value) {
    if exchange.answer.is_success() {
        run.judge(R::ResultFields, exchange, expect::login_result(body));
        if let Some(members) = expect::members_of_result(body["status"].as_str()) {
            run.no_members_but(exchange, body, members);
        }
    }
}
