//! The legacy flow: authorize · complete · redeem · profile · revoke.

use std::sync::Arc;

use contract::{
    AccessToken, CodeChallenge, HandoffCode, LoginError, Profile, Provider, RedirectUri, Rule,
    State, TokenRequest,
};

use super::broker_core::{BrokerCore, CallObserver, ProviderRedirect};
use super::report::{LogFields, Refused, Report};
use super::returned::Returned;
use crate::audit::Step;
use crate::model::LoginId;
use crate::model::grant::{NewGrant, Redemption};
use crate::model::upstream_login::{Seed, UpstreamLogin};
use crate::projects::Project;
use crate::random;
use crate::relay::Visit;
use crate::store::Redeemed;
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

/// The answer to an authorization request.
pub(crate) enum AuthorizeResponse {
    /// The browser goes to the provider.
    ToProvider(ProviderRedirect),
    /// The browser goes back to the consumer.
    Back(LegacyCallback),
}

/// A project's callback that a browser is sent back to, with its parameters.
pub(crate) struct LegacyCallback {
    pub(crate) redirect_uri: RedirectUri,
    pub(crate) state: Option<State>,
    pub(crate) outcome: LegacyOutcome,
}

/// The outcome of a legacy login, which its browser carries to the callback.
pub(crate) enum LegacyOutcome {
    Code(HandoffCode),
    InvalidRequest,
    Failed(LoginError),
}

/// Starts an upstream login for an authorization request. Nothing is stored.
pub(crate) async fn authorize(
    core: &BrokerCore,
    request: AuthorizeRequest,
    visit: &Visit,
    observe: CallObserver<'_>,
) -> Report<AuthorizeResponse> {
    let AuthorizeRequest {
        project,
        redirect_uri,
        state,
        params,
    } = request;
    let mut log = LogFields {
        project: Some(project.client_id.clone()),
        login: state.as_ref().map(LoginId::of_state),
        provenance: Some(visit.provenance(project.start_origins(&redirect_uri))),
        ..LogFields::default()
    };
    let started = match params {
        Ok(params) => {
            start_upstream_login(core, &project, &redirect_uri, params, observe, &mut log).await
        }
        Err(rule) => {
            log.rule = Some(rule);
            Err(LegacyOutcome::InvalidRequest)
        }
    };
    let result = Ok(match started {
        Ok(redirect) => AuthorizeResponse::ToProvider(redirect),
        Err(outcome) => AuthorizeResponse::Back(LegacyCallback {
            redirect_uri,
            state,
            outcome,
        }),
    });
    Report { log, result }
}

/// The redirect to the provider; or the outcome, if the provider is off or its
/// address cannot be found out.
async fn start_upstream_login(
    core: &BrokerCore,
    project: &Project,
    redirect_uri: &RedirectUri,
    params: AuthorizeParams,
    observe: CallObserver<'_>,
    log: &mut LogFields,
) -> Result<ProviderRedirect, LegacyOutcome> {
    if !core.upstreams.offers(params.provider) {
        log.rule = Some(Rule::ProviderOffered);
        return Err(LegacyOutcome::Failed(LoginError::ProviderUnavailable));
    }
    log.provider = Some(params.provider);
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
            log.set_failure(failure);
            LegacyOutcome::Failed(failure.error())
        })
}

/// Completes the login of a browser that is back from its provider. The browser
/// carries the outcome, so an upstream login that was consumed before or has expired
/// is refused.
pub(super) async fn complete(
    returned: &Returned<'_>,
    state: &State,
    challenge: &CodeChallenge,
    redirect_uri: RedirectUri,
    log: &mut LogFields,
) -> Result<LegacyCallback, Refused> {
    returned.consume(log).await?;
    let outcome = match returned.outcome(log).await {
        Ok(profile) => issue_code(returned, challenge, profile, log).await,
        Err(error) => LegacyOutcome::Failed(error),
    };
    Ok(LegacyCallback {
        redirect_uri,
        state: Some(state.clone()),
        outcome,
    })
}

async fn issue_code(
    returned: &Returned<'_>,
    challenge: &CodeChallenge,
    profile: Profile,
    log: &mut LogFields,
) -> LegacyOutcome {
    let Returned {
        core,
        upstream_login,
        ..
    } = returned;
    let code = HandoffCode::from_random(&random::bytes32());
    let now = core.now();
    let grant = NewGrant::of(upstream_login, challenge, profile, code.digest(), now);
    match core.store.issue(grant).await {
        Ok(()) => {
            log.steps.push(Step::CodeIssued);
            LegacyOutcome::Code(code)
        }
        // The upstream login is consumed: the browser goes back all the same.
        Err(error) => {
            log.rule = Some(Refused::from(error).rule);
            LegacyOutcome::Failed(LoginError::ProviderUnavailable)
        }
    }
}

/// Redeems a handoff code for an access token.
pub(crate) async fn redeem(
    core: &BrokerCore,
    project: &Project,
    request: &TokenRequest,
) -> Report<AccessToken> {
    let mut log = LogFields {
        project: Some(project.client_id.clone()),
        ..LogFields::default()
    };
    let token = AccessToken::from_random(&random::bytes32());
    let result = match redeem_for(core, project, request, &token).await {
        Ok(Redeemed::Token(login)) => {
            log.login = Some(login);
            log.steps.push(Step::CodeRedeemed);
            Ok(token)
        }
        Ok(Redeemed::Refused(rule, login)) => {
            log.login = login;
            if rule == Rule::CodeOnce {
                // A second redemption ends the token of the first.
                log.steps.push(Step::TokenRevoked);
            }
            Err(rule.into())
        }
        Err(refused) => Err(refused),
    };
    Report { log, result }
}

async fn redeem_for(
    core: &BrokerCore,
    project: &Project,
    request: &TokenRequest,
    token: &AccessToken,
) -> Result<Redeemed, Refused> {
    // The callback may have been withdrawn since the code came to it.
    project.check_callback(&request.redirect_uri)?;
    let now = core.now();
    let redemption = Redemption::of(request, &project.client_id, token.digest(), now);
    Ok(core.store.redeem(redemption, now).await?)
}

/// Reads the profile that an access token opens.
pub(crate) async fn profile(core: &BrokerCore, token: &AccessToken) -> Report<Profile> {
    let mut log = LogFields::default();
    let now = core.now();
    let result = match core.store.token(token.digest(), now).await {
        Ok(Some(token)) => {
            log.project = Some(token.project.clone());
            log.login = Some(token.login.clone());
            token.open(now).map_err(Refused::from)
        }
        Ok(None) => Err(Rule::BearerKnown.into()),
        Err(error) => Err(error.into()),
    };
    Report { log, result }
}

/// Revokes an access token, known or not: its bearer learns nothing by that.
pub(crate) async fn revoke(core: &BrokerCore, token: &AccessToken) -> Report<()> {
    let mut log = LogFields::default();
    let result = match core.store.revoke(token.digest()).await {
        Ok(Some(login)) => {
            log.login = Some(login);
            log.steps.push(Step::TokenRevoked);
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    };
    Report { log, result }
}
