//! The addresses that the providers send browsers back to. The exceptions to "on to the app's
//! callback, whatever became of the sign-in" are in the README's "The way back to
//! the app".

use contract::{
    CodeChallenge, Digest, HandoffCode, LoginError, Profile, Provider, RedirectUri, Rule,
};
use rocket::http::uri::Origin;
use rocket::{State, get, head};

use super::context::Trace;
use super::login_session::settle;
use super::request::client_addr::Source;
use super::request::query_params::query_of;
use super::request::upstream_login_cookies::UpstreamLogins;
use super::response::client_redirect::{self, Fragment, LegacyCallback};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::audit::Step;
use crate::model::grant::NewGrant;
use crate::model::login_session::LoginOutcome;
use crate::model::upstream_login::{Purpose, UpstreamLogin};
use crate::query::Query;
use crate::random;
use crate::store::{Consumed, StoreError};
use crate::upstream::Failure;

#[get("/callback/<provider>")]
pub(super) async fn arrive(
    provider: &str,
    uri: &Origin<'_>,
    upstream_logins: UpstreamLogins<'_>,
    source: Source,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, Refusal> {
    let provider = known(provider)?;
    let query = query_of(uri);
    let upstream_login =
        returning(&upstream_logins, provider, &query).ok_or(Rule::UpstreamLoginOwnBrowser)?;
    trace.project(&upstream_login.project);
    trace.login(&upstream_login.login);
    trace.provider(upstream_login.provider);
    let later = |later| trace.later(later);
    broker.limits.callback(source.0).map_err(later)?;
    let home = home(broker, upstream_login).ok_or(Rule::RedirectUriRegistered)?;
    // The way to the provider has ended whatever fragment the browser came with.
    let fragment = Fragment::Ended;
    match &upstream_login.purpose {
        Purpose::Clean { handle, .. } => {
            let home = client_redirect::clean(broker, &upstream_login.project, home, fragment);
            clean(broker, trace, upstream_login, &query, *handle, home).await
        }
        Purpose::Legacy { state, challenge } => {
            let home = LegacyCallback {
                redirect_uri: home,
                state: Some(state.clone()),
                fragment,
            };
            legacy(broker, trace, upstream_login, &query, challenge, home).await
        }
    }
}

/// HEAD would run the route above and spend the upstream login.
#[head("/callback/<provider>")]
pub(super) fn look(provider: &str) -> Result<(), Refusal> {
    known(provider).map(drop)
}

fn known(provider: &str) -> Result<Provider, Refusal> {
    provider.parse().map_err(|_| Rule::RequestPath.into())
}

/// The upstream login that comes back, if this browser made it.
fn returning<'a>(
    upstream_logins: &'a UpstreamLogins<'_>,
    provider: Provider,
    query: &Query<'_>,
) -> Option<&'a UpstreamLogin> {
    upstream_logins.returning(provider, &query.once("state").ok()??)
}

/// The callback that the upstream login set out for, if it is still registered.
fn home(broker: &Broker, upstream_login: &UpstreamLogin) -> Option<RedirectUri> {
    broker
        .projects
        .find(&upstream_login.project)?
        .callback(&upstream_login.callback)
        .cloned()
}

/// In the clean flow the browser always goes home; the outcome is the backend's
/// to read.
async fn clean(
    broker: &Broker,
    trace: &Trace,
    upstream_login: &UpstreamLogin,
    query: &Query<'_>,
    handle: Digest,
    home: SeeOther,
) -> Result<SeeOther, Refusal> {
    match spend(broker, trace, upstream_login).await? {
        Err(rule) => trace.refused(rule),
        Ok(()) => {
            let outcome = match arrival(broker, trace, upstream_login, query).await {
                Ok(profile) => LoginOutcome::Succeeded(profile),
                Err(failure) => {
                    trace.failed(failure);
                    LoginOutcome::Failed(failure.error())
                }
            };
            // The upstream login is spent: whatever the store says now, the person goes home,
            // and the backend hears of the trouble when it asks.
            if let Err(error) = settle(broker, trace, handle, outcome).await {
                trace.refused(Refusal::from(error).rule);
            }
        }
    }
    Ok(home)
}

/// In the legacy flow the browser carries the outcome, so an upstream login that does not
/// count has nothing to go home with.
async fn legacy(
    broker: &Broker,
    trace: &Trace,
    upstream_login: &UpstreamLogin,
    query: &Query<'_>,
    challenge: &CodeChallenge,
    home: LegacyCallback,
) -> Result<SeeOther, Refusal> {
    spend(broker, trace, upstream_login).await??;
    match arrival(broker, trace, upstream_login, query).await {
        Err(failure) => {
            trace.failed(failure);
            Ok(home.with_error(failure.error().as_str()))
        }
        Ok(profile) => {
            let code = HandoffCode::from_random(&random::bytes32());
            let now = broker.now();
            let grant = NewGrant::of(upstream_login, challenge, profile, code.digest(), now);
            match broker.store.issue(grant).await {
                Ok(_) => {
                    trace.committed(Step::CodeIssued);
                    Ok(home.with_code(&code))
                }
                // The upstream login is consumed: the browser goes back all the same.
                Err(error) => {
                    trace.refused(Refusal::from(error).rule);
                    Ok(home.with_error(LoginError::ProviderUnavailable.as_str()))
                }
            }
        }
    }
}

/// Who came back, as far as the provider proves it.
async fn arrival(
    broker: &Broker,
    trace: &Trace,
    upstream_login: &UpstreamLogin,
    query: &Query<'_>,
) -> Result<Profile, Failure> {
    let hear = trace.of_calls(broker, upstream_login.provider);
    let upstreams = &broker.upstreams;
    upstreams
        .arrival(upstream_login, query, broker.now(), &hear)
        .await
}

/// Spends the upstream login, if it still counts. From here on the provider is asked, once.
async fn spend(
    broker: &Broker,
    trace: &Trace,
    upstream_login: &UpstreamLogin,
) -> Result<Result<(), Rule>, StoreError> {
    if let Err(rule) = upstream_login.check_time(broker.now()) {
        return Ok(Err(rule));
    }
    Ok(
        match broker.store.consume_upstream_login(upstream_login).await? {
            Consumed::Now => {
                trace.committed(Step::UpstreamLoginConsumed);
                Ok(())
            }
            Consumed::Before => Err(Rule::UpstreamLoginOnce),
        },
    )
}
