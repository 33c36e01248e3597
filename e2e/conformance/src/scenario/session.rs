//! `POST /v1/login/session`, without a browser.

use serde_json::Value;

use super::malformed::{self, MalformedRequest};
use crate::error::Stop;
use crate::expect::{self, ensure};
use crate::http::{Exchange, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;

pub(super) const PATH: &str = "/v1/login/session";

const FIELDS: &[&str] = &[
    "client_id",
    "client_secret",
    "session_key",
    "provider",
    "redirect_uri",
];

pub(super) const COVERS: &[R] = &[
    R::AnswerMediaType,
    R::AnswerMembers,
    R::AnswerNoUpstreamToken,
    R::AuthorizationUrlShape,
    R::BodyDuplicateField,
    R::BodyFieldNames,
    R::BodyFieldType,
    R::BodyJson,
    R::BodyMediaType,
    R::BodyMissingField,
    R::BodyUnknownField,
    R::ClientIdLength,
    R::ClientInBody,
    R::ClientRecognised,
    R::ClientSecretLength,
    R::ErrorCode,
    R::ErrorShape,
    R::ProviderKnown,
    R::RedirectUriOwnProject,
    R::RedirectUriRegistered,
    R::RedirectUriShape,
    R::RefusalStatus,
    R::RequestSecretInUrl,
    R::RequestSecretBesideBody,
    R::SessionExpiresIn,
    R::SessionFields,
    R::SessionKeyFresh,
    R::SessionKeyPattern,
    R::SessionStatus,
    R::SuccessStatus,
    R::UrlNoSecret,
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
    let request = run.plan.project.session_request(&key, provider);
    let exchange = run.send(RawRequest::post(PATH, request)).await?;
    let response = &exchange.response;
    run.check(R::SessionStatus, &exchange, expect::status(response, 200));
    if !response.is_success() {
        return Err(Stop::Blocked("a login could not be started".to_owned()));
    }
    let body = response.json();
    let Some(url) = check_body(run, &exchange, &body, &key) else {
        return Err(Stop::Blocked("a login had no authorization_url".to_owned()));
    };
    Ok(Login {
        authorization_url: url,
        provider,
        key,
    })
}

fn check_body(run: &mut Run<'_>, exchange: &Exchange, body: &Value, key: &str) -> Option<String> {
    let fields = ["authorization_url", "expires_in"];
    run.check_members(R::SessionFields, exchange, body, &fields);
    if body.get("expires_in").is_some() {
        let lifetime = expect::member(body, "expires_in", 600);
        run.check(R::SessionExpiresIn, exchange, lifetime);
    }
    let url = body["authorization_url"].as_str()?;
    run.check(R::AuthorizationUrlShape, exchange, expect::plain_url(url));
    let secret = &run.plan.project.client_secret;
    let has_secret = url.contains(key) || url.contains(secret.as_str());
    let none = ensure(!has_secret, "expected no secret in authorization_url");
    run.check(R::UrlNoSecret, exchange, none);
    Some(url.to_owned())
}

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[0];
    let login = start(run, provider).await?;
    let again = run.plan.project.session_request(&login.key, provider);
    let exchange = run.send(RawRequest::post(PATH, again)).await?;
    run.check_refusal(R::SessionKeyFresh, &exchange, 400);
    for malformed in malformed_starts(run) {
        let key = run.new_secret("session_key");
        let body = run.plan.project.session_request(&key, provider);
        let exchange = run.send(malformed.made_from(body)).await?;
        run.check_refusal(malformed.requirement, &exchange, malformed.kit_status);
    }
    Ok(())
}

fn malformed_starts(run: &mut Run<'_>) -> Vec<MalformedRequest> {
    let mut all = malformed::any_request(PATH, FIELDS, &run.plan.project, 401);
    all.extend(malformed::session_keys(PATH));
    all.push(MalformedRequest::field(
        R::ClientIdLength,
        PATH,
        "client_id",
        "",
    ));
    for text in ["Google", "gitlab", ""] {
        all.push(MalformedRequest::field(
            R::ProviderKnown,
            PATH,
            "provider",
            text,
        ));
    }
    match run.plan.callback_of_other_alone() {
        Some(theirs) => all.push(MalformedRequest::field(
            R::RedirectUriOwnProject,
            PATH,
            "redirect_uri",
            theirs,
        )),
        None => run.skip(
            &[R::RedirectUriOwnProject],
            "needs a callback that is registered for a second project alone",
        ),
    }
    all
}
