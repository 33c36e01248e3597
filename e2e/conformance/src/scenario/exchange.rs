//! The legacy flow: handoff codes, and their exchange for tokens.

use serde_json::Value;
use url::Url;

use super::authorize::{self, LegacyLogin};
use super::malformed::{self, MalformedRequest};
use super::{bearer, profile, sign_in};
use crate::browser::NavigationEnd;
use crate::error::Stop;
use crate::expect::{self, ensure};
use crate::http::{Exchange, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::users::QueuedUser;

const PATH: &str = "/v1/token";

const FIELDS: &[&str] = &[
    "grant_type",
    "client_id",
    "client_secret",
    "code",
    "redirect_uri",
    "code_verifier",
];

pub(super) const REPLAY_COVERS: &[R] = &[
    R::AuthorizeCallback,
    R::TokenIssued,
    R::CodeLength,
    R::TokenFields,
    R::TokenAccessToken,
    R::TokenType,
    R::TokenExpiresIn,
    R::TokenScope,
    R::TokenPrefix,
    R::ProfileBearer,
    R::ProfileSubjectStable,
    R::CodeOnce,
    R::CodeReplayEndsToken,
    R::BearerShape,
    R::BearerHeader,
    R::BearerKnown,
];

pub(super) const EXCHANGE_MALFORMED_COVERS: &[R] = &[
    R::GrantTypeConstant,
    R::CodeVerifierPattern,
    R::CodeKnown,
    R::CodeClient,
    R::CodeCallback,
    R::CodeVerifier,
    R::CodeKept,
    R::RevokeAccepted,
    R::RevokeBody,
    R::RevokeIdempotent,
    R::BearerEnded,
];

/// The number of logins that a broker may cost which serves malformed requests: each
/// of them redeems a code.
const MAX_LOGINS: usize = 4;

/// A handoff code, and the verifier that redeems it.
pub(super) struct HandoffCode {
    code: String,
    verifier: String,
    provider: &'static str,
}

/// Signs in by the legacy flow, up to the code.
pub(super) async fn obtain_code(
    run: &mut Run<'_>,
    provider: &'static str,
) -> Result<HandoffCode, Stop> {
    let login = authorize::begin(run, provider);
    let url = format!("{}{}", run.plan.base_url, login.path());
    let user = QueuedUser::default_at(provider);
    let end = sign_in::sign_in(run, &url, provider, user).await?;
    let Some(code) = check_callback(run, &login, &end) else {
        return Err(Stop::Blocked(
            "the legacy callback brought no code, and the specification does not show what else \
             it might bring"
                .to_owned(),
        ));
    };
    run.mask_secret("code", &code);
    let length = ensure(code.len() <= 200, "expected at most 200 characters");
    run.check_by(R::CodeLength, end.evidence, length);
    Ok(HandoffCode {
        code,
        verifier: login.verifier,
        provider: login.provider,
    })
}

fn check_callback(run: &mut Run<'_>, login: &LegacyLogin, end: &NavigationEnd) -> Option<String> {
    let url = Url::parse(end.url.as_deref()?).ok()?;
    let query: Vec<_> = url.query_pairs().collect();
    let code = query.iter().find(|(name, _)| name == "code");
    let state = query.iter().find(|(name, _)| name == "state");
    let is_like_this_kits = query.len() == 2
        && state.is_some_and(|(_, state)| *state == login.state)
        && url.fragment().is_none();
    let check = ensure(
        is_like_this_kits && code.is_some(),
        "this kit brings code and the state of the request",
    );
    run.check_by(R::AuthorizeCallback, end.evidence.clone(), check);
    code.map(|(_, code)| code.clone().into_owned())
}

/// Redeems a code.
pub(super) async fn redeem(run: &mut Run<'_>, code: &HandoffCode) -> Result<Exchange, Stop> {
    let request = run.plan.project.token_request(&code.code, &code.verifier);
    let exchange = run.send(RawRequest::post(PATH, request)).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

/// Redeems a code, checks the response, and returns the token.
pub(super) async fn obtain_token(run: &mut Run<'_>, code: &HandoffCode) -> Result<String, Stop> {
    let exchange = redeem(run, code).await?;
    let body = exchange.response.json();
    let issued = expect::success(&exchange.response);
    run.check(R::TokenIssued, &exchange, issued);
    if exchange.response.is_success() {
        check_token(run, &exchange, &body);
    }
    match body["access_token"].as_str() {
        Some(token) if exchange.response.is_success() => Ok(token.to_owned()),
        _ => Err(Stop::Blocked("a fresh code was not redeemed".to_owned())),
    }
}

fn check_token(run: &mut Run<'_>, exchange: &Exchange, body: &Value) {
    let fields = ["access_token", "token_type", "expires_in", "scope"];
    run.check_members(R::TokenFields, exchange, body, &fields);
    let constants: [(R, &str, Value); 3] = [
        (R::TokenType, "token_type", "Bearer".into()),
        (R::TokenExpiresIn, "expires_in", 900.into()),
        (R::TokenScope, "scope", "profile".into()),
    ];
    for (requirement, name, expected) in constants {
        if body.get(name).is_some() {
            let holds = expect::member(body, name, expected);
            run.check(requirement, exchange, holds);
        }
    }
    let Some(token) = body.get("access_token") else {
        return;
    };
    let Some(prefix) = token.as_str().and_then(expect::token_prefix) else {
        let expected = "expected a prefix, an underscore and 43 characters of [A-Za-z0-9_-]";
        run.check(R::TokenAccessToken, exchange, Err(expected.to_owned()));
        return;
    };
    let first = run.token_prefix.get_or_insert_with(|| prefix.to_owned());
    let same = ensure(first == prefix, "expected the prefix of the first token");
    run.check(R::TokenAccessToken, exchange, same);
    let is_fsi = ensure(prefix == "fsi", "this kit's prefix is fsi");
    run.check(R::TokenPrefix, exchange, is_fsi);
}

/// Signs in, fetches the profile, and redeems the code once more.
pub(super) async fn replay(run: &mut Run<'_>) -> Result<(), Stop> {
    let code = obtain_code(run, run.providers[0]).await?;
    let token = obtain_token(run, &code).await?;
    // Before the replay: a broker may end the token then.
    let exchange = bearer::profile(run, &token).await?;
    if run.check_success(R::ProfileBearer, &exchange) {
        let body = exchange.response.json();
        let user = QueuedUser::default_at(code.provider);
        profile::check(run, &exchange, &body, code.provider, user);
    }
    bearer::check_refusals(run, &token).await?;
    let again = redeem(run, &code).await?;
    if run.check_refusal(R::CodeOnce, &again, 400) {
        let exchange = bearer::profile(run, &token).await?;
        let ended = ensure(
            !exchange.response.is_success(),
            "this kit ends the token then",
        );
        run.check(R::CodeReplayEndsToken, &exchange, ended);
    } else {
        run.skip(&[R::CodeReplayEndsToken], "the code was redeemed again");
    }
    let subject = "the clean login and this one were of different accounts";
    run.skip(&[R::ProfileSubjectStable], subject);
    Ok(())
}

/// Sends every malformed exchange, then the good one, and revokes its token.
pub(super) async fn exchange_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let mut left = malformed_exchanges(run);
    left.reverse();
    for _ in 0..MAX_LOGINS {
        let code = obtain_code(run, run.providers[0]).await?;
        if !refuses_all(run, &code, &mut left).await? {
            continue;
        }
        let exchange = redeem(run, &code).await?;
        let kept = ensure(
            exchange.response.is_success(),
            "this kit redeems the code still",
        );
        run.check(R::CodeKept, &exchange, kept);
        let token = match exchange.response.json()["access_token"].as_str() {
            Some(token) if exchange.response.is_success() => token.to_owned(),
            _ => {
                let fresh = obtain_code(run, run.providers[0]).await?;
                obtain_token(run, &fresh).await?
            }
        };
        return bearer::check_revocation(run, &token).await;
    }
    Err(Stop::Blocked(
        "too many malformed exchanges were served".to_owned(),
    ))
}

/// Sends what is left until a request is served. Returns whether none was.
async fn refuses_all(
    run: &mut Run<'_>,
    code: &HandoffCode,
    left: &mut Vec<MalformedRequest>,
) -> Result<bool, Stop> {
    while let Some(malformed) = left.pop() {
        let body = run.plan.project.token_request(&code.code, &code.verifier);
        let exchange = run.send(malformed.made_from(body)).await?;
        if !run.check_refusal(malformed.requirement, &exchange, malformed.kit_status) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn malformed_exchanges(run: &mut Run<'_>) -> Vec<MalformedRequest> {
    let put =
        |requirement, field, text: String| MalformedRequest::field(requirement, PATH, field, text);
    let mut all = malformed::any_request(PATH, FIELDS, &run.plan.project, 401);
    for grant in ["refresh_token", ""] {
        all.push(put(R::GrantTypeConstant, "grant_type", grant.to_owned()));
    }
    for code in [String::new(), "x".repeat(201)] {
        all.push(put(R::CodeLength, "code", code));
    }
    for verifier in [
        "x".repeat(42),
        "x".repeat(129),
        format!("{}+", "x".repeat(43)),
    ] {
        all.push(put(R::CodeVerifierPattern, "code_verifier", verifier));
    }
    let (code, verifier) = (run.new_secret("code"), run.new_secret("code_verifier"));
    all.push(put(R::CodeKnown, "code", code));
    match &run.plan.project.second_callback {
        Some(second) => all.push(put(R::CodeCallback, "redirect_uri", second.clone())),
        None => run.skip(
            &[R::CodeCallback],
            "needs a second registered callback of the project",
        ),
    }
    match run.other() {
        Some(other) => {
            let other = other.clone();
            all.push(MalformedRequest::body(R::CodeClient, PATH, move |body| {
                body["client_id"] = other.client_id.as_str().into();
                body["client_secret"] = other.client_secret.as_str().into();
            }));
        }
        None => run.skip(&[R::CodeClient], "needs a second project"),
    }
    // Last: a broker may consume the code when the verifier is not the original one.
    all.push(put(R::CodeVerifier, "code_verifier", verifier));
    all
}
