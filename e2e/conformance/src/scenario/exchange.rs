//! The legacy flow: codes, and the tokens that they are exchanged for.

use serde_json::Value;
use url::Url;

use super::authorize::{self, Transaction};
use super::bent::{self, Bent};
use super::{bearer, clean, profile};
use crate::browser::{self, Aim, Journey};
use crate::expect::{self, that};
use crate::http::{Call, Exchange};
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop};

const PATH: &str = "/v1/token";

const FIELDS: &[&str] = &[
    "grant_type",
    "client_id",
    "client_secret",
    "code",
    "redirect_uri",
    "code_verifier",
];

pub(super) const REPLAYED_TRIES: &[R] = &[
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

pub(super) const WRONG_EXCHANGES_TRIES: &[R] = &[
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

/// A broker that redeems what it should refuse costs a login each time.
const MOST_LOGINS: usize = 4;

/// A code, with what redeems it.
pub(super) struct Coded {
    code: String,
    verifier: String,
    provider: &'static str,
}

/// Signs in by the legacy flow up to the code.
pub(super) async fn obtain(run: &mut Run<'_>, provider: &'static str) -> Result<Coded, Stop> {
    let transaction = authorize::begin(run, provider);
    clean::queue(run, provider, Aim::SignIn).await?;
    let url = format!("{}{}", run.plan.base_url, transaction.path());
    let journey = browser::go(run, &url, Aim::SignIn).await?;
    let Some(code) = judge_callback(run, &transaction, &journey) else {
        return Err(Stop::Blocked(
            "the legacy callback brought no code, and the specification does not show what else \
             it might bring"
                .to_owned(),
        ));
    };
    run.keep_secret("code", &code);
    let length = that(code.len() <= 200, "expected at most 200 characters");
    run.judge_by(R::CodeLength, journey.evidence, length);
    Ok(Coded {
        code,
        verifier: transaction.verifier,
        provider: transaction.provider,
    })
}

fn judge_callback(
    run: &mut Run<'_>,
    transaction: &Transaction,
    journey: &Journey,
) -> Option<String> {
    let url = Url::parse(journey.url.as_deref()?).ok()?;
    let query: Vec<_> = url.query_pairs().collect();
    let code = query.iter().find(|(name, _)| name == "code");
    let state = query.iter().find(|(name, _)| name == "state");
    let is_ours = query.len() == 2
        && state.is_some_and(|(_, state)| *state == transaction.state)
        && url.fragment().is_none();
    let holds = that(
        is_ours && code.is_some(),
        "ours brings code and the state of the request",
    );
    run.judge_by(R::AuthorizeCallback, journey.evidence.clone(), holds);
    code.map(|(_, code)| code.clone().into_owned())
}

/// Redeems a code.
pub(super) async fn redeem(run: &mut Run<'_>, coded: &Coded) -> Result<Exchange, Stop> {
    let request = run.plan.project.token_request(&coded.code, &coded.verifier);
    let exchange = run.call(Call::post(PATH, request)).await?;
    run.success_status(&exchange);
    Ok(exchange)
}

/// Redeems a code, judges the answer, and hands out the token.
pub(super) async fn token(run: &mut Run<'_>, coded: &Coded) -> Result<String, Stop> {
    let exchange = redeem(run, coded).await?;
    let body = exchange.answer.json();
    let issued = expect::success(&exchange.answer);
    run.judge(R::TokenIssued, &exchange, issued);
    if exchange.answer.is_success() {
        judge_token(run, &exchange, &body);
    }
    match body["access_token"].as_str() {
        Some(token) if exchange.answer.is_success() => Ok(token.to_owned()),
        _ => Err(Stop::Blocked("a fresh code was not redeemed".to_owned())),
    }
}

fn judge_token(run: &mut Run<'_>, exchange: &Exchange, body: &Value) {
    let fields = ["access_token", "token_type", "expires_in", "scope"];
    run.members(R::TokenFields, exchange, body, &fields);
    let constants: [(R, &str, Value); 3] = [
        (R::TokenType, "token_type", "Bearer".into()),
        (R::TokenExpiresIn, "expires_in", 900.into()),
        (R::TokenScope, "scope", "profile".into()),
    ];
    for (requirement, name, expected) in constants {
        if body.get(name).is_some() {
            let holds = expect::member(body, name, expected);
            run.judge(requirement, exchange, holds);
        }
    }
    let Some(token) = body.get("access_token") else {
        return;
    };
    let Some(prefix) = token.as_str().and_then(expect::token_prefix) else {
        let expected = "expected a prefix, an underscore and 43 characters of [A-Za-z0-9_-]";
        run.judge(R::TokenAccessToken, exchange, Err(expected.to_owned()));
        return;
    };
    let first = run.token_prefix.get_or_insert_with(|| prefix.to_owned());
    let same = that(first == prefix, "expected the prefix of the first token");
    run.judge(R::TokenAccessToken, exchange, same);
    let ours = that(prefix == "fsi", "ours is fsi");
    run.judge(R::TokenPrefix, exchange, ours);
}

/// A whole legacy login; then its code once more.
pub(super) async fn replayed(run: &mut Run<'_>) -> Result<(), Stop> {
    let coded = obtain(run, run.providers[0]).await?;
    let token = token(run, &coded).await?;
    // Before the replay: a broker may end the token then.
    let exchange = bearer::profile(run, &token).await?;
    if run.succeed(R::ProfileBearer, &exchange) {
        let body = exchange.answer.json();
        profile::judge(run, &exchange, &body, coded.provider);
    }
    bearer::wrong(run, &token).await?;
    let again = redeem(run, &coded).await?;
    if run.refuse(R::CodeOnce, &again, 400) {
        let exchange = bearer::profile(run, &token).await?;
        let ended = that(!exchange.answer.is_success(), "ours ends the token then");
        run.judge(R::CodeReplayEndsToken, &exchange, ended);
    } else {
        run.skip(&[R::CodeReplayEndsToken], "the code was redeemed again");
    }
    let subject = "the clean login and this one were of different accounts";
    run.skip(&[R::ProfileSubjectStable], subject);
    Ok(())
}

/// Everything that redeems nothing, then what does, then the end of its token.
pub(super) async fn wrong_exchanges(run: &mut Run<'_>) -> Result<(), Stop> {
    let mut left = all_bent(run);
    left.reverse();
    for _ in 0..MOST_LOGINS {
        let coded = obtain(run, run.providers[0]).await?;
        if !refuse_all(run, &coded, &mut left).await? {
            continue;
        }
        let exchange = redeem(run, &coded).await?;
        let kept = that(exchange.answer.is_success(), "ours is redeemed still");
        run.judge(R::CodeKept, &exchange, kept);
        let token = match exchange.answer.json()["access_token"].as_str() {
            Some(token) if exchange.answer.is_success() => token.to_owned(),
            _ => {
                let fresh = obtain(run, run.providers[0]).await?;
                token(run, &fresh).await?
            }
        };
        return bearer::ended(run, &token).await;
    }
    Err(Stop::Blocked(
        "too many wrong exchanges were served".to_owned(),
    ))
}

async fn refuse_all(run: &mut Run<'_>, coded: &Coded, left: &mut Vec<Bent>) -> Result<bool, Stop> {
    while let Some(bent) = left.pop() {
        let right = run.plan.project.token_request(&coded.code, &coded.verifier);
        let exchange = run.call(bent.apply(right)).await?;
        if !run.refuse(bent.requirement, &exchange, bent.our_status) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn all_bent(run: &mut Run<'_>) -> Vec<Bent> {
    let put = |requirement, field, text: String| Bent::field(requirement, PATH, field, text);
    let mut all = bent::any_request(PATH, FIELDS, &run.plan.project, 401);
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
    let (code, verifier) = (run.fresh("code"), run.fresh("code_verifier"));
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
            all.push(Bent::body(R::CodeClient, PATH, move |body| {
                body["client_id"] = other.client_id.as_str().into();
                body["client_secret"] = other.client_secret.as_str().into();
            }));
        }
        None => run.skip(&[R::CodeClient], "needs a second project"),
    }
    // Last: a broker may give up the code when the verifier is wrong.
    all.push(put(R::CodeVerifier, "code_verifier", verifier));
    all
}
