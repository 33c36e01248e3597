//! The provider's callback, in both flows: a browser comes back from its provider.

use std::net::IpAddr;

use contract::{CodeChallenge, Digest, HandoffCode, LoginError, Profile, RedirectUri, Rule, State};

use super::{
    BrokerCore, BrowserAnswer, CallObserver, ClientRedirect, Confirmation, LegacyOutcome, Question,
    Refused,
};
use crate::audit::{Event, Step};
use crate::model::grant::NewGrant;
use crate::model::login_session::LoginOutcome;
use crate::model::upstream_login::{Purpose, UpstreamLogin};
use crate::projects::Project;
use crate::random;
use crate::relay::{RelayGuard, SameTraits};
use crate::store::{Consumed, StoreError};
use crate::untrusted::Query;

/// A browser that is back from its provider.
pub(crate) struct Returned<'a> {
    pub(crate) core: &'a BrokerCore,
    pub(crate) upstream_login: UpstreamLogin,
    pub(crate) step: CallbackStep,
    /// The query of the provider's callback.
    pub(crate) query: &'a Query<'a>,
    pub(crate) observe: CallObserver<'a>,
}

/// The step by which a browser comes to the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallbackStep {
    /// From its provider, with these traits of the browser that was redirected there.
    FromProvider(SameTraits),
    /// By Continue on the confirmation page.
    Confirmed,
    /// By Cancel on the confirmation page.
    Cancelled,
}

impl Returned<'_> {
    /// Completes the sign-in. The browser goes on to the callback that the upstream login
    /// was started for, if it is still registered.
    pub(crate) async fn complete(
        &self,
        client_addr: Option<IpAddr>,
        event: &mut Event,
    ) -> Result<BrowserAnswer, Refused> {
        self.fill(event);
        self.core.limits.callback(client_addr)?;
        let upstream_login = &self.upstream_login;
        let project = self.core.projects.find(&upstream_login.project);
        let project = project.ok_or(Rule::RedirectUriRegistered)?;
        let redirect_uri = project.callback(&upstream_login.callback).cloned();
        let redirect_uri = redirect_uri.ok_or(Rule::RedirectUriRegistered)?;
        match &upstream_login.purpose {
            Purpose::Clean { .. } if self.is_asked(&project) => {
                event.rule = Some(Rule::UpstreamLoginSameTraits);
                Ok(BrowserAnswer::Confirm(Confirmation {
                    project,
                    origin: redirect_uri.origin().clone(),
                    provider: upstream_login.provider,
                    question: Question::OtherTraits,
                }))
            }
            Purpose::Clean { handle, .. } => {
                self.complete_clean(*handle, redirect_uri, event).await
            }
            Purpose::Legacy { state, challenge } => {
                self.complete_legacy(state, challenge, redirect_uri, event)
                    .await
            }
        }
    }

    fn fill(&self, event: &mut Event) {
        event.project = Some(self.upstream_login.project.clone());
        event.login = Some(self.upstream_login.login.clone());
        event.provider = Some(self.upstream_login.provider);
        if let CallbackStep::FromProvider(same) = self.step {
            event.same_traits = Some(same);
        }
    }

    /// Whether a browser is asked that only holds the cookie of the one that was
    /// redirected to the provider, and otherwise looks different. Its login is still under
    /// way. In the legacy flow the consumer's state answers that question.
    fn is_asked(&self, project: &Project) -> bool {
        matches!(self.step, CallbackStep::FromProvider(same) if !same.all())
            && project.relay_guard != RelayGuard::Off
            && self.upstream_login.check_time(self.core.now()).is_ok()
    }

    /// Completes the session of the browser, which goes on to the callback whatever the
    /// outcome: its backend reads that.
    async fn complete_clean(
        &self,
        handle: Digest,
        redirect_uri: RedirectUri,
        event: &mut Event,
    ) -> Result<BrowserAnswer, Refused> {
        if let Err(rule) = self.upstream_login.check_time(self.core.now()) {
            event.rule = Some(rule);
        } else if self.consume(event).await? == Consumed::Before {
            event.rule = Some(Rule::UpstreamLoginOnce);
        } else {
            let outcome = match self.outcome(event).await {
                Ok(profile) => LoginOutcome::Succeeded(profile),
                Err(error) => LoginOutcome::Failed(error),
            };
            // The upstream login is consumed: the browser goes back even if the store
            // fails now, and its backend finds the login still pending.
            let completed = self.core.complete_session(handle, outcome, event).await;
            if let Err(error) = completed {
                event.rule = Some(Refused::from(error).rule);
            }
        }
        Ok(BrowserAnswer::Back(ClientRedirect::Clean {
            project: self.upstream_login.project.clone(),
            redirect_uri,
        }))
    }

    /// Completes the login of the browser, which carries the outcome: an upstream login
    /// that was consumed before or has expired is refused.
    async fn complete_legacy(
        &self,
        state: &State,
        challenge: &CodeChallenge,
        redirect_uri: RedirectUri,
        event: &mut Event,
    ) -> Result<BrowserAnswer, Refused> {
        self.upstream_login.check_time(self.core.now())?;
        if self.consume(event).await? == Consumed::Before {
            return Err(Rule::UpstreamLoginOnce.into());
        }
        let outcome = match self.outcome(event).await {
            Ok(profile) => self.issue_code(challenge, profile, event).await,
            Err(error) => LegacyOutcome::Failed(error),
        };
        Ok(BrowserAnswer::Back(ClientRedirect::Legacy {
            redirect_uri,
            state: Some(state.clone()),
            outcome,
        }))
    }

    async fn issue_code(
        &self,
        challenge: &CodeChallenge,
        profile: Profile,
        event: &mut Event,
    ) -> LegacyOutcome {
        let code = HandoffCode::from_random(&random::bytes32());
        let (login, now) = (&self.upstream_login, self.core.now());
        let grant = NewGrant::of(login, challenge, profile, code.digest(), now);
        match self.core.store.issue(grant).await {
            Ok(()) => {
                event.steps.push(Step::CodeIssued);
                LegacyOutcome::Code(code)
            }
            // The upstream login is consumed: the browser goes back all the same.
            Err(error) => {
                event.rule = Some(Refused::from(error).rule);
                LegacyOutcome::Failed(LoginError::ProviderUnavailable)
            }
        }
    }

    /// Consumes the upstream login, unless it was consumed before. Only after that is the
    /// provider asked, once.
    async fn consume(&self, event: &mut Event) -> Result<Consumed, StoreError> {
        let store = &self.core.store;
        let consumed = store.consume_upstream_login(&self.upstream_login).await?;
        if consumed == Consumed::Now {
            event.steps.push(Step::UpstreamLoginConsumed);
        }
        Ok(consumed)
    }

    /// The user who signed in; or the error of a login that failed or was cancelled.
    async fn outcome(&self, event: &mut Event) -> Result<Profile, LoginError> {
        if self.step == CallbackStep::Cancelled {
            event.rule = Some(Rule::RelayCancelled);
            return Err(LoginError::AccessDenied);
        }
        let observer = |call| (self.observe)(&self.upstream_login, call);
        let upstreams = &self.core.upstreams;
        let user = upstreams
            .authenticate(&self.upstream_login, self.query, self.core.now(), &observer)
            .await;
        user.map_err(|failure| {
            event.set_failure(failure.rule(), failure.why());
            failure.error()
        })
    }
}
