//! The legacy flow: authorize · redeem · profile · revoke. A browser that comes back is in
//! [`callback`](super::callback).

use std::sync::Arc;

use contract::{
    AccessToken, CodeChallenge, LoginError, Profile, Provider, RedirectUri, Rule, State,
    TokenRequest,
};

use super::{BrokerCore, CallObserver, ClientRedirect, LegacyOutcome, ProviderRedirect, Refused};
use crate::audit::{Event, Step};
use crate::model::LoginId;
use crate::model::grant::Redemption;
use crate::model::upstream_login::{Seed, UpstreamLogin};
use crate::projects::Project;
use crate::random;
use crate::relay::Visit;
use crate::store::{Redeemed, Revoked};
use crate::upstream::AccountPicker;

/// An authorization request of a known project, with one of its callbacks.
pub(crate) struct AuthorizeRequest {
    pub(crate) project: Arc<Project>,
    pub(crate) redirect_uri: RedirectUri,
    /// The consumer's state, if it came once and is well formed.
    pub(crate) state: Option<State>,
    /// The remaining parameters, or the rule that one of them breaks.
    pub(crate) params: Result<AuthorizeParams, Rule>,
}

/// The parameters of an authorization request, beside client and callback.
pub(crate) struct AuthorizeParams {
    pub(crate) provider: Provider,
    pub(crate) state: State,
    pub(crate) challenge: CodeChallenge,
}

/// Starts an upstream login for an authorization request, or sends the browser back with an
/// error. Nothing is stored.
pub(crate) async fn authorize(
    core: &BrokerCore,
    request: AuthorizeRequest,
    visit: &Visit,
    observe: CallObserver<'_>,
    event: &mut Event,
) -> Result<ProviderRedirect, ClientRedirect> {
    let AuthorizeRequest {
        project,
        redirect_uri,
        state,
        params,
    } = request;
    event.project = Some(project.client_id.clone());
    event.login = state.as_ref().map(LoginId::of_state);
    event.provenance = Some(visit.provenance(project.start_origins(&redirect_uri)));
    let started = match params {
        Ok(params) => {
            start_upstream_login(core, &project, &redirect_uri, params, observe, event).await
        }
        Err(rule) => {
            event.rule = Some(rule);
            Err(LegacyOutcome::InvalidRequest)
        }
    };
    started.map_err(|outcome| ClientRedirect::Legacy {
        redirect_uri,
        state,
        outcome,
    })
}

/// The redirect to the provider; or the outcome, if the provider is off or its
/// address cannot be found out.
async fn start_upstream_login(
    core: &BrokerCore,
    project: &Project,
    redirect_uri: &RedirectUri,
    params: AuthorizeParams,
    observe: CallObserver<'_>,
    event: &mut Event,
) -> Result<ProviderRedirect, LegacyOutcome> {
    if !core.upstreams.offers(params.provider) {
        event.rule = Some(Rule::ProviderOffered);
        return Err(LegacyOutcome::Failed(LoginError::ProviderUnavailable));
    }
    event.provider = Some(params.provider);
    let upstream_login = UpstreamLogin::for_authorization(
        Seed::from_random(random::bytes32()),
        &project.client_id,
        redirect_uri,
        params.provider,
        (params.state, params.challenge),
        core.now(),
    );
    // The state comes back through the browser, which protects it: no account picker
    // is needed.
    core.redirect_to_provider(upstream_login, AccountPicker::ProviderDecides, observe)
        .await
        .map_err(|failure| {
            event.set_failure(failure.rule(), failure.why());
            LegacyOutcome::Failed(failure.error())
        })
}

/// Redeems a handoff code for an access token.
pub(crate) async fn redeem(
    core: &BrokerCore,
    project: &Project,
    request: &TokenRequest,
    event: &mut Event,
) -> Result<AccessToken, Refused> {
    event.project = Some(project.client_id.clone());
    // The callback may have been withdrawn since the code came to it.
    project.check_callback(&request.redirect_uri)?;
    let token = AccessToken::from_random(&random::bytes32());
    let now = core.now();
    let redemption = Redemption::of(request, &project.client_id, token.digest(), now);
    match core.store.redeem(redemption, now).await? {
        Redeemed::Token(login) => {
            event.login = Some(login);
            event.steps.push(Step::CodeRedeemed);
            Ok(token)
        }
        Redeemed::Replayed(login) => {
            event.login = Some(login);
            event.steps.push(Step::TokenRevoked);
            Err(Rule::CodeOnce.into())
        }
        Redeemed::Refused(rule, login) => {
            event.login = login;
            Err(rule.into())
        }
    }
}

/// Reads the profile that an access token opens.
pub(crate) async fn profile(
    core: &BrokerCore,
    token: &AccessToken,
    event: &mut Event,
) -> Result<Profile, Refused> {
    let now = core.now();
    let token = core.store.token(token.digest(), now).await?;
    let token = token.ok_or(Rule::BearerKnown)?;
    event.project = Some(token.project.clone());
    event.login = Some(token.login.clone());
    Ok(token.open(now)?)
}

/// Revokes an access token, known or not: its bearer learns nothing by that.
pub(crate) async fn revoke(
    core: &BrokerCore,
    token: &AccessToken,
    event: &mut Event,
) -> Result<(), Refused> {
    event.login = match core.store.revoke(token.digest(), core.now()).await? {
        Revoked::Now(login) => {
            event.steps.push(Step::TokenRevoked);
            Some(login)
        }
        Revoked::Before(login) => login,
    };
    Ok(())
}
