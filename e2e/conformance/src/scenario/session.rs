//! `POST /v1/login/session`, without any browser.

use serde_json::Value;

use super::bent::{self, Bent};
use crate::expect::{self, that};
use crate::http::{Call, Exchange};
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop};

pub(super) const PATH: &str = "/v1/login/session";

const FIELDS: &[&str] = &[
    "client_id",
    "client_secret",
    "session_key",
    "provider",
    "redirect_uri",
];

pub(super) const TRIES: &[R] = &[
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
    R::RedirectUriRegistered,
    R::RedirectUriShape,
    R::RefusalStatus,
    R::RequestSecretInUrl,
    R::SecretBesideBody,
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

/// Starts a login and judges the answer.
pub(super) async fn start(run: &mut Run<'_>, provider: &'static str) -> Result<Login, Stop> {
    let key = run.fresh("session_key");
    let request = run.plan.project.session_request(&key, provider);
    let exchange = run.call(Call::post(PATH, request)).await?;
    let answer = &exchange.answer;
    run.judge(R::SessionStatus, &exchange, expect::status(answer, 200));
    if !answer.is_success() {
        return Err(Stop::Blocked("a login could not be started".to_owned()));
    }
    let body = answer.json();
    let Some(url) = judge_body(run, &exchange, &body, &key) else {
        return Err(Stop::Blocked("a login had no authorization_url".to_owned()));
    };
    Ok(Login {
        authorization_url: url,
        provider,
        key,
    })
}

fn judge_body(run: &mut Run<'_>, exchange: &Exchange, body: &Value, key: &str) -> Option<String> {
    let fields = ["authorization_url", "expires_in"];
    run.members(R::SessionFields, exchange, body, &fields);
    if body.get("expires_in").is_some() {
        let lifetime = expect::member(body, "expires_in", 600);
        run.judge(R::SessionExpiresIn, exchange, lifetime);
    }
    let url = body["authorization_url"].as_str()?;
    run.judge(R::AuthorizationUrlShape, exchange, expect::plain_url(url));
    let secret = &run.plan.project.client_secret;
    let bears_none = !url.contains(key) && !url.contains(secret.as_str());
    let holds = that(bears_none, "expected no secret in authorization_url");
    run.judge(R::UrlNoSecret, exchange, holds);
    Some(url.to_owned())
}

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let provider = run.providers[0];
    let login = start(run, provider).await?;
    let again = run.plan.project.session_request(&login.key, provider);
    let exchange = run.call(Call::post(PATH, again)).await?;
    run.refuse(R::SessionKeyFresh, &exchange, 400);
    for bent in all_bent(run) {
        let key = run.fresh("session_key");
        let right = run.plan.project.session_request(&key, provider);
        let exchange = run.call(bent.apply(right)).await?;
        run.refuse(bent.requirement, &exchange, bent.our_status);
    }
    Ok(())
}

fn all_bent(run: &mut Run<'_>) -> Vec<Bent> {
    let mut all = bent::any_request(PATH, FIELDS, &run.plan.project, 401);
    all.extend(bent_keys(PATH));
    all.push(Bent::field(R::ClientIdLength, PATH, "client_id", ""));
    for text in ["Google", "gitlab", ""] {
        all.push(Bent::field(R::ProviderKnown, PATH, "provider", text));
    }
    if let Some(other) = run.other() {
        let theirs = other.callback.clone();
        if theirs != run.plan.project.callback {
            all.push(Bent::field(
                R::RedirectUriRegistered,
                PATH,
                "redirect_uri",
                theirs,
            ));
        }
    }
    all
}

/// Keys that are too short, too long, or of other characters.
pub(super) fn bent_keys(path: &'static str) -> [Bent; 4] {
    let bend = move |by: fn(&str) -> String| {
        Bent::body(R::SessionKeyPattern, path, move |body| {
            let key = by(body["session_key"].as_str().unwrap_or_default());
            body["session_key"] = key.into();
        })
    };
    [
        bend(|key| key[1..].to_owned()),
        bend(|key| format!("{key}=")),
        bend(|key| format!("{}.", &key[1..])),
        bend(|_| String::new()),
    ]
}
