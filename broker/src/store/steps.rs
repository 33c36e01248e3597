//! The steps, decided once for both engines.
//!
//! The row that a statement returns, or the number of rows it changed, decides; a
//! `SELECT` afterwards only explains a refusal.

use contract::{Digest, LoginError};

use super::outcome::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Revoked};
use super::row::{self, Executor, outcome_columns, parameters, profile_text};
use super::sql;
use crate::model::grant::{NewGrant, Redemption, Token};
use crate::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery,
};
use crate::model::{LoginId, UnixMs};

pub(super) async fn open<E: Executor>(
    db: &E,
    new: &NewLogin,
    now: UnixMs,
) -> Result<Opened, E::Error> {
    let session = &new.session;
    let parameters = parameters![
        &new.key,
        &new.handle,
        session.login.as_str(),
        session.project.as_str(),
        session.redirect_uri.as_str(),
        session.provider.as_str(),
        session.ends,
        session.known_until,
        now,
    ];
    match db.change(sql::OPEN, parameters).await? {
        0 => Ok(Opened::KeyTaken),
        _ => Ok(Opened::Fresh),
    }
}

pub(super) async fn find<E: Executor>(
    db: &E,
    handle: Digest,
    now: UnixMs,
) -> Result<Option<LoginSession>, E::Error> {
    db.one(sql::FIND, parameters![&handle, now], row::login_session)
        .await
}

pub(super) async fn bind_browser<E: Executor>(
    db: &E,
    handle: Digest,
    browser: BrowserBinding,
    now: UnixMs,
) -> Result<Bound, E::Error> {
    let parameters = parameters![&browser.0, &handle, now];
    match db.change(sql::BIND_BROWSER, parameters).await? {
        0 => find(db, handle, now).await.map(Bound::Refused),
        _ => Ok(Bound::Granted),
    }
}

pub(super) async fn cancel<E: Executor>(
    db: &E,
    handle: Digest,
    browser: BrowserBinding,
    now: UnixMs,
) -> Result<Bound, E::Error> {
    let denied = LoginError::AccessDenied.as_str();
    let parameters = parameters![denied, &handle, now, &browser.0];
    match db.change(sql::CANCEL, parameters).await? {
        0 => find(db, handle, now).await.map(Bound::Refused),
        _ => Ok(Bound::Granted),
    }
}

pub(super) async fn consume_upstream_login<E: Executor>(
    db: &E,
    id: Digest,
    known_until: UnixMs,
) -> Result<Consumed, E::Error> {
    let parameters = parameters![&id, known_until];
    match db.change(sql::CONSUME_UPSTREAM_LOGIN, parameters).await? {
        0 => Ok(Consumed::Before),
        _ => Ok(Consumed::Now),
    }
}

pub(super) async fn complete<E: Executor>(
    db: &E,
    handle: Digest,
    outcome: &LoginOutcome,
    now: UnixMs,
) -> Result<Completed, E::Error> {
    let (profile, error) = outcome_columns(outcome);
    let parameters = parameters![profile.as_deref(), error, &handle, now];
    match db.change(sql::COMPLETE, parameters).await? {
        0 => Ok(Completed::TooLate),
        _ => Ok(Completed::Now),
    }
}

pub(super) async fn consume_result<E: Executor>(
    db: &E,
    ask: &ResultQuery,
    now: UnixMs,
) -> Result<ResultRead, E::Error> {
    let parameters = parameters![
        &ask.key,
        ask.project.as_str(),
        ask.redirect_uri.as_str(),
        now
    ];
    match db.consume_result(parameters).await? {
        Some(outcome) => Ok(ResultRead::Outcome(outcome)),
        None => {
            let known = parameters![&ask.key, now];
            let session = db.one(sql::FIND_BY_KEY, known, row::login_session);
            Ok(ResultRead::explained(session.await?, ask, now))
        }
    }
}

pub(super) async fn issue<E: Executor>(db: &E, grant: &NewGrant) -> Result<(), E::Error> {
    let profile = profile_text(&grant.profile);
    let parameters = parameters![
        &grant.code,
        grant.login.as_str(),
        grant.project.as_str(),
        &grant.callback,
        grant.challenge.as_str(),
        profile.as_str(),
        grant.code_ends,
        grant.known_until,
    ];
    db.change(sql::ISSUE, parameters).await.map(drop)
}

pub(super) async fn redeem<E: Executor>(
    db: &E,
    redemption: &Redemption,
    now: UnixMs,
) -> Result<Redeemed, E::Error> {
    let parameters = parameters![
        &redemption.token,
        redemption.token_ends,
        redemption.known_until,
        &redemption.code,
        redemption.project.as_str(),
        &redemption.callback,
        redemption.challenge.as_str(),
        now,
    ];
    if let Some(login) = db.one(sql::REDEEM, parameters, row::login).await? {
        return Ok(Redeemed::Token(login));
    }
    if let Some(login) = end_replayed(db, redemption, now).await? {
        return Ok(Redeemed::Replayed(login));
    }
    let known = parameters![&redemption.code, now];
    let grant = db.one(sql::FIND_GRANT, known, row::grant).await?;
    Ok(Redeemed::explained(grant, redemption))
}

async fn end_replayed<E: Executor>(
    db: &E,
    redemption: &Redemption,
    now: UnixMs,
) -> Result<Option<LoginId>, E::Error> {
    let parameters = parameters![
        &redemption.code,
        redemption.project.as_str(),
        &redemption.callback,
        redemption.challenge.as_str(),
        now,
    ];
    db.one(sql::END_REPLAYED, parameters, row::login).await
}

pub(super) async fn token<E: Executor>(
    db: &E,
    token: Digest,
    now: UnixMs,
) -> Result<Option<Token>, E::Error> {
    db.one(sql::FIND_TOKEN, parameters![&token, now], row::token)
        .await
}

pub(super) async fn revoke<E: Executor>(
    db: &E,
    token: Digest,
    now: UnixMs,
) -> Result<Revoked, E::Error> {
    let parameters = parameters![&token, now];
    if let Some(login) = db.one(sql::REVOKE, parameters, row::login).await? {
        return Ok(Revoked::Now(login));
    }
    db.one(sql::ERASE_ENDED, parameters, row::login)
        .await
        .map(Revoked::Before)
}

pub(super) async fn sweep<E: Executor>(db: &E, now: UnixMs) -> Result<usize, E::Error> {
    if !db.may_sweep().await? {
        return Ok(0);
    }
    let mut rows = 0;
    for statement in sql::SWEEP {
        let parameters = parameters![now, sql::SWEEP_ROWS];
        rows += db.change(statement, parameters).await?;
    }
    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
}
