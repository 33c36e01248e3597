//! The legacy flow: `GET /authorize`, handoff codes, their exchange for tokens, and what
//! tokens are for, `GET /v1/profile` and `POST /v1/revoke`. The specification does not show the parameters of the address nor of its callback: what is
//! sent and expected there is this kit's choice.

use agent::backend::{Call, LegacyLogin};
use agent::url::{encode, parameter, without_parameter};
use reqwest::Method;
use reqwest::header::LOCATION;
use serde_json::{Value, json};
use url::Url;

use super::{malformed, profile, sign_in};
use crate::browser::NavigationEnd;
use crate::expect::{self, ensure};
use crate::http::{Exchange, RawRequest};
use crate::project::QueuedUser;
use crate::requirement::{Requirement as R, TOKEN_LIFETIME_SECONDS};
use crate::run::Run;
use crate::verdict::Stop;

/// A handoff code, by the call that redeems it.
pub(super) struct HandoffCode {
    call: Call,
    provider: &'static str,
}

/// Prepares a login for this kit's `/authorize`: its secrets, and its path and query.
pub(super) fn begin(run: &mut Run<'_>, provider: &str) -> (LegacyLogin, String) {
    let state = run.new_secret("state");
    let one = run.new_secret("code_verifier");
    let other = run.new_secret("code_verifier");
    // With every kind of character that a verifier may have.
    let verifier = format!("{one}.~{other}");
    let login = LegacyLogin { state, verifier };
    let backend = &run.plan.project.backend;
    let path = backend.authorize_url("", provider, &login);
    (login, path)
}

/// Opens malformed addresses, and follows no redirect.
pub(super) async fn authorize_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let plan = run.plan;
    let secret = plan.project.backend.client_secret.as_str();
    let mut rows = vec![
        (R::AuthorizeClient, "client_id", "an-unknown-client"),
        (R::AuthorizeOnce, "provider", "github"),
        (
            R::AuthorizeChallengeMethod,
            "code_challenge_method",
            "plain",
        ),
        (R::AuthorizeResponseType, "response_type", "token"),
        (R::RequestSecretBesideBody, "client_secret", secret),
    ];
    let theirs = plan.callback_of_other_alone();
    rows.extend(theirs.map(|it| (R::AuthorizeClient, "redirect_uri", it)));
    for (requirement, name, value) in rows {
        let (_, mut path) = begin(run, run.providers[0]);
        if requirement != R::AuthorizeOnce {
            path = without_parameter(&path, name);
        }
        let path = format!("{path}&{}", encode(&[(name, value)]));
        let exchange = run.send(RawRequest::get(&path)).await?;
        // The browser sees a page, or is redirected to the callback with an error.
        let location = exchange.header(LOCATION);
        let stays = location.is_empty() || location.starts_with(&plan.project.backend.callback);
        let expected = "this kit redirects no such request to a provider";
        run.check(requirement, &exchange, ensure(stays, expected));
    }
    Ok(())
}

/// Signs in by the legacy flow, up to the code.
pub(super) async fn obtain_code(
    run: &mut Run<'_>,
    provider: &'static str,
) -> Result<HandoffCode, Stop> {
    let (login, path) = begin(run, provider);
    let url = format!("{}{path}", run.plan.base_url);
    let end = sign_in::sign_in(run, &url, provider).await?;
    let Some(code) = check_callback(run, &login, &end) else {
        return Err(Stop::blocked(
            "the legacy callback brought no code, and the specification does not show what else \
             it might bring",
        ));
    };
    run.mask.add("code", &code);
    let length = ensure(code.len() <= 200, "expected at most 200 characters");
    run.check_by(R::CodeLength, end.evidence, length);
    let call = run.plan.project.backend.redeem(&code, &login.verifier);
    Ok(HandoffCode { call, provider })
}

fn check_callback(run: &mut Run<'_>, login: &LegacyLogin, end: &NavigationEnd) -> Option<String> {
    let end_url = end.url.as_deref()?;
    let url = Url::parse(end_url).ok()?;
    let code = parameter(end_url, "code");
    let is_like_this_kits = url.query_pairs().count() == 2
        && code.is_some()
        && parameter(end_url, "state").as_ref() == Some(&login.state)
        && url.fragment().is_none();
    let check = ensure(
        is_like_this_kits,
        "this kit brings code and the state of the request",
    );
    run.check_by(R::AuthorizeCallback, end.evidence.clone(), check);
    code
}

/// Redeems a code.
pub(super) async fn redeem(run: &mut Run<'_>, code: &HandoffCode) -> Result<Exchange, Stop> {
    let exchange = run.send(code.call.clone()).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

/// Redeems a code, checks the response, and returns the token.
pub(super) async fn obtain_token(run: &mut Run<'_>, code: &HandoffCode) -> Result<String, Stop> {
    let exchange = redeem(run, code).await?;
    run.check(R::TokenIssued, &exchange, expect::success(&exchange));
    if exchange.is_success() {
        check_token(run, &exchange);
    }
    token_in(&exchange).ok_or_else(|| Stop::blocked("a fresh code was not redeemed"))
}

pub(super) fn token_in(exchange: &Exchange) -> Option<String> {
    let token = exchange.body["access_token"].as_str();
    token.filter(|_| exchange.is_success()).map(str::to_owned)
}

fn check_token(run: &mut Run<'_>, exchange: &Exchange) {
    let body = &exchange.body;
    let fields = ["access_token", "token_type", "expires_in", "scope"];
    run.check_members(R::TokenFields, exchange, body, &fields);
    let constants: [(R, &str, Value); 3] = [
        (R::TokenType, "token_type", "Bearer".into()),
        (
            R::TokenExpiresIn,
            "expires_in",
            TOKEN_LIFETIME_SECONDS.into(),
        ),
        (R::TokenScope, "scope", "profile".into()),
    ];
    for (requirement, name, expected) in constants {
        if body.get(name).is_some() {
            run.check(requirement, exchange, expect::member(body, name, expected));
        }
    }
    let Some(token) = body.get("access_token") else {
        return;
    };
    let Some(prefix) = token.as_str().and_then(expect::token_prefix) else {
        let expected = "expected a prefix, an underscore and 43 characters of [A-Za-z0-9_-]";
        return run.check(R::TokenAccessToken, exchange, ensure(false, expected));
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
    let exchange = read_profile(run, &token).await?;
    if run.check_success(R::ProfileBearer, &exchange) {
        let user = QueuedUser::default_at(code.provider);
        profile::check(run, &exchange, &exchange.body, code.provider, user);
    }
    check_refusals(run, &token).await?;
    let again = redeem(run, &code).await?;
    if run.check_refusal(R::CodeOnce, &again, 400) {
        let exchange = read_profile(run, &token).await?;
        let ended = ensure(!exchange.is_success(), "this kit ends the token then");
        run.check(R::CodeReplayEndsToken, &exchange, ended);
    } else {
        run.skip(&[R::CodeReplayEndsToken], "the code was redeemed again");
    }
    let subject = "the clean login and this one were of different accounts";
    run.skip(&[R::ProfileSubjectStable], subject);
    Ok(())
}

/// Sends every malformed exchange, then the good one, and revokes its token.
pub(super) async fn redeem_malformed(run: &mut Run<'_>) -> Result<(), Stop> {
    let mut rows = malformed_exchanges(run).into_iter();
    for _ in 0..malformed::MAX_LOGINS {
        let code = obtain_code(run, run.providers[0]).await?;
        if !malformed::are_refused(run, &code.call, &mut rows).await? {
            continue;
        }
        let exchange = redeem(run, &code).await?;
        let kept = ensure(exchange.is_success(), "this kit redeems the code still");
        run.check(R::CodeKept, &exchange, kept);
        let token = match token_in(&exchange) {
            Some(token) => token,
            None => {
                let fresh = obtain_code(run, run.providers[0]).await?;
                obtain_token(run, &fresh).await?
            }
        };
        return check_revocation(run, &token).await;
    }
    Err(Stop::blocked("too many malformed exchanges were served"))
}

fn malformed_exchanges(run: &mut Run<'_>) -> Vec<malformed::Row> {
    let (code, verifier) = (run.new_secret("code"), run.new_secret("code_verifier"));
    let mut rows = malformed::of_any_request(&run.plan.project.backend.redeem("", ""));
    rows.push(malformed::set(
        R::GrantTypeConstant,
        "grant_type",
        "refresh_token",
    ));
    rows.push(malformed::set(R::GrantTypeConstant, "grant_type", ""));
    rows.extend(malformed::texts(
        R::CodeLength,
        "code",
        [|_| String::new(), |_| "x".repeat(201)],
    ));
    rows.extend(malformed::texts(
        R::CodeVerifierPattern,
        "code_verifier",
        [
            |_| "x".repeat(42),
            |_| "x".repeat(129),
            |_| format!("{}+", "x".repeat(43)),
        ],
    ));
    rows.push(malformed::set(R::CodeKnown, "code", &code));
    rows.extend(malformed::with_second_callback(run, R::CodeCallback));
    let other = run.or_skip(
        R::CodeClient,
        run.plan.other.as_ref(),
        "needs a second project",
    );
    rows.extend(other.map(|other| {
        let (id, secret) = (&other.backend.client_id, &other.backend.client_secret);
        let credentials = json!({ "client_id": id, "client_secret": secret });
        (R::CodeClient, malformed::Change::Set(credentials))
    }));
    // Last: a broker may consume the code when the verifier is not the original one.
    rows.push(malformed::set(R::CodeVerifier, "code_verifier", &verifier));
    rows
}

/// Fetches the profile with `token`.
pub(super) async fn read_profile(run: &mut Run<'_>, token: &str) -> Result<Exchange, Stop> {
    let exchange = run.send(Call::profile(token)).await?;
    run.check_success_status(&exchange);
    Ok(exchange)
}

/// A token of the same form that was never issued.
fn unknown_token_like(run: &mut Run<'_>, token: &str) -> String {
    const CHANGED: usize = 20;
    let mut random = run.new_secret("access_token");
    random.truncate(CHANGED);
    let same = token.len().saturating_sub(CHANGED);
    let unknown = format!("{}{random}", token.get(..same).unwrap_or_default());
    run.mask.add("access_token", &unknown);
    unknown
}

/// Sends no token, a malformed one, an unknown one, and the good one elsewhere.
async fn check_refusals(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let unknown = format!("Bearer {}", unknown_token_like(run, token));
    let to_profile = || RawRequest::get("/v1/profile");
    let to_revoke = || RawRequest {
        method: Method::POST,
        ..RawRequest::get("/v1/revoke")
    };
    let with = |call: RawRequest, value: &str| call.with_authorization(value);
    for (requirement, call) in [
        (R::BearerShape, to_profile()),
        (R::BearerShape, to_revoke()),
        (R::BearerShape, with(to_profile(), "Bearer tooshort")),
        (R::BearerShape, with(to_revoke(), "Bearer tooshort")),
        (R::BearerKnown, with(to_profile(), &unknown)),
        (
            R::BearerHeader,
            with(to_profile(), &format!("Basic {token}")),
        ),
        (R::BearerHeader, with(to_profile(), token)),
        (
            R::BearerHeader,
            RawRequest::get(&format!("/v1/profile?access_token={token}")),
        ),
    ] {
        let exchange = run.send(call).await?;
        run.check_refusal(requirement, &exchange, 401);
    }
    Ok(())
}

/// Revokes the token, uses it, and revokes it again.
async fn check_revocation(run: &mut Run<'_>, token: &str) -> Result<(), Stop> {
    let exchange = run.send(Call::revoke(token)).await?;
    if !run.check_success(R::RevokeAccepted, &exchange) {
        return Err(Stop::blocked("a token could not be revoked"));
    }
    let is_empty = exchange.body == json!({});
    let empty = ensure(is_empty, "this kit sends an empty object");
    run.check(R::RevokeBody, &exchange, empty);
    let exchange = read_profile(run, token).await?;
    run.check_refusal(R::BearerEnded, &exchange, 401);
    for again in [token, &unknown_token_like(run, token)] {
        let exchange = run.send(Call::revoke(again)).await?;
        run.check_success(R::RevokeIdempotent, &exchange);
    }
    Ok(())
}
