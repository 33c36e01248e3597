//! The clean callback flow: a backend starts a login session · a browser opens its authorization
//! URL, and confirms or cancels if it is asked · the backend reads the result. A browser that comes
//! back is in [`callback`](super::callback).

use std::sync::Arc;

use contract::{
    ClientId, Digest, LoginError, LoginResult, LoginResultRequest, LoginSessionRequest,
    RedirectUri, Rule,
};

use super::{
    BrokerCore, BrowserAnswer, CallObserver, ClientRedirect, Confirmation, Question, Refused,
};
use crate::audit::{Event, Step};
use crate::model::login_session::{
    self, BrowserBinding, Handle, LoginOutcome, LoginSession, NotAdmitted, ResultQuery,
    StillPending,
};
use crate::model::upstream_login::{Seed, UpstreamLogin};
use crate::model::{LoginId, UnixMs};
use crate::projects::Project;
use crate::random;
use crate::relay::{RelayDecision, RelayGuard, Visit};
use crate::store::{Bound, Opened, ResultRead, StoreError};
use crate::upstream::AccountPicker;

/// Starts a login session. Returns the handle of its authorization URL.
pub(crate) async fn start(
    core: &BrokerCore,
    project: &Project,
    request: &LoginSessionRequest,
    event: &mut Event,
) -> Result<Handle, Refused> {
    let (client_id, limits) = (&project.client_id, &core.limits);
    event.project = Some(client_id.clone());
    event.provider = Some(request.provider);
    event.login = Some(LoginId::of_key(&request.session_key));
    project.check_callback(&request.redirect_uri)?;
    if !core.upstreams.offers(request.provider) {
        return Err(Rule::ProviderOffered.into());
    }
    let handle = Handle::from_random(random::bytes32());
    let now = core.now();
    let counted = limits.count_session(client_id, now)?;
    let login = login_session::open(request, handle.digest(), now);
    let opened = core.store.open(login, now).await;
    if !matches!(opened, Ok(Opened::Fresh)) {
        limits.uncount_session(client_id, counted);
    }
    match opened? {
        Opened::Fresh => {
            event.steps.push(Step::Opened);
            Ok(handle)
        }
        Opened::KeyTaken => Err(Rule::SessionKeyFresh.into()),
    }
}

/// Reads the result of a login session, and consumes it if it is terminal.
pub(crate) async fn read_result(
    core: &BrokerCore,
    project: &Project,
    request: &LoginResultRequest,
    event: &mut Event,
) -> Result<LoginResult, Refused> {
    event.project = Some(project.client_id.clone());
    event.login = Some(LoginId::of_key(&request.session_key));
    // The callback may have been withdrawn since the login began.
    project.check_callback(&request.redirect_uri)?;
    let query = ResultQuery::of(request);
    match core.store.consume_result(query, core.now()).await? {
        ResultRead::Pending(StillPending) => Ok(LoginResult::Pending),
        ResultRead::Refused(rule) => Err(rule.into()),
        ResultRead::Outcome(outcome) => {
            event.steps.push(Step::ResultConsumed);
            Ok(match outcome {
                LoginOutcome::Succeeded(profile) => LoginResult::Succeeded { profile },
                LoginOutcome::Failed(error) => LoginResult::Failed { error },
            })
        }
    }
}

/// A browser's visit of an authorization URL.
pub(crate) struct LoginVisit<'a> {
    core: &'a BrokerCore,
    observe: CallObserver<'a>,
    handle: Digest,
    browser: BrowserBinding,
    event: &'a mut Event,
}

/// The step that a browser takes at an authorization URL.
#[derive(Debug, Clone, Copy)]
pub(crate) enum VisitStep<'v> {
    /// It opens the URL.
    Open(&'v Visit),
    /// Continue on the confirmation page.
    Confirm,
    /// Cancel on the confirmation page, which ends the login.
    Cancel,
}

impl<'a> LoginVisit<'a> {
    /// A visit under `handle` of the browser that holds `browser`, if it holds an
    /// upstream login of this session.
    pub(crate) fn new(
        core: &'a BrokerCore,
        observe: CallObserver<'a>,
        handle: &Handle,
        browser: Option<BrowserBinding>,
        event: &'a mut Event,
    ) -> Self {
        let unbound = || BrowserBinding(Digest::from_bytes(random::bytes32()));
        Self {
            core,
            observe,
            handle: handle.digest(),
            browser: browser.unwrap_or_else(unbound),
            event,
        }
    }

    /// Answers the step. A browser that comes when its login is over goes back to the consumer.
    pub(crate) async fn answer(mut self, step: VisitStep<'_>) -> Result<BrowserAnswer, Refused> {
        let answer = match step {
            VisitStep::Open(visit) => self.open(visit).await,
            VisitStep::Confirm => self.confirm().await,
            VisitStep::Cancel => self.cancel().await,
        };
        answer.or_else(|error| match error {
            VisitError::Over(callback) => Ok(BrowserAnswer::Back(callback)),
            VisitError::Refused(refused) => Err(refused),
        })
    }

    /// The first browser gets the session and an upstream login, unless the relay guard
    /// demands confirmation.
    async fn open(&mut self, visit: &Visit) -> Result<BrowserAnswer, VisitError> {
        let login = self.find().await?;
        let (decision, picker) = self.decide(&login, visit);
        match decision {
            RelayDecision::Bind => self.bind().await?,
            RelayDecision::PassUnbound => {}
            RelayDecision::Confirm => return Ok(BrowserAnswer::Confirm(self.confirmation(login))),
        }
        self.start_upstream_login(login, picker).await
    }

    /// Counts the visit, and asks the relay guard.
    fn decide(&mut self, login: &PendingLogin, visit: &Visit) -> (RelayDecision, AccountPicker) {
        let PendingLogin { session, project } = login;
        let start_origins = project.start_origins(&session.redirect_uri);
        let provenance = visit.provenance(start_origins);
        self.event.provenance = Some(provenance);
        self.core.limits.visit(&session.project, provenance);
        let is_plain = visit.is_plain(start_origins, &self.core.base_url);
        // Also for a login that is bound already: another page of the same host name can
        // plant the cookie that says so.
        let decision = project
            .relay_guard
            .decide(provenance, is_plain && self.is_local(session));
        let picker = match project.select_account.is_for(provenance) {
            true => AccountPicker::Always,
            false => AccountPicker::ProviderDecides,
        };
        (decision, picker)
    }

    /// Finds the login, changing nothing, and checks that this browser may have it.
    async fn find(&mut self) -> Result<PendingLogin, VisitError> {
        let now = self.core.now();
        let session = self.core.store.find(self.handle, now).await?;
        let session = session.ok_or(Rule::HandleKnown)?;
        self.event.project = Some(session.project.clone());
        self.event.login = Some(session.login.clone());
        self.event.provider = Some(session.provider);
        let session = session
            .admit(self.browser, now)
            .map_err(|reason| self.not_admitted(reason))?;
        let project = self.check_callback(&session.project, &session.redirect_uri)?;
        Ok(PendingLogin { session, project })
    }

    /// Whether consumer, broker and provider are all on this machine.
    fn is_local(&self, session: &LoginSession) -> bool {
        self.core.base_url.is_loopback()
            && session.redirect_uri.origin().is_loopback()
            && self.core.upstreams.is_loopback(session.provider)
    }

    fn confirmation(&mut self, login: PendingLogin) -> Confirmation {
        let question = match login.project.relay_guard {
            RelayGuard::Always => Question::Always,
            RelayGuard::Auto | RelayGuard::Off => {
                self.event.rule = Some(Rule::RelayStartOrigin);
                Question::StartedElsewhere
            }
        };
        Confirmation {
            question,
            origin: login.session.redirect_uri.origin().clone(),
            provider: login.session.provider,
            project: login.project,
        }
    }

    async fn confirm(&mut self) -> Result<BrowserAnswer, VisitError> {
        let login = self.find().await?;
        self.bind().await?;
        self.start_upstream_login(login, AccountPicker::Always)
            .await
    }

    async fn cancel(&mut self) -> Result<BrowserAnswer, VisitError> {
        let login = self.find().await?;
        let (store, now) = (&self.core.store, self.core.now());
        let cancelled = store.cancel(self.handle, self.browser, now).await?;
        self.granted(cancelled, Step::Completed, now)?;
        self.event.rule = Some(Rule::RelayCancelled);
        Ok(login.back())
    }

    /// Binds the login to this browser, unless another was faster.
    async fn bind(&mut self) -> Result<(), VisitError> {
        let (store, now) = (&self.core.store, self.core.now());
        let bound = store.bind_browser(self.handle, self.browser, now).await?;
        self.granted(bound, Step::Bound, now)
    }

    fn granted(&mut self, bound: Bound, step: Step, now: UnixMs) -> Result<(), VisitError> {
        match bound {
            Bound::Granted => {
                self.event.steps.push(step);
                Ok(())
            }
            Bound::Refused(Some(session)) => Err(self.not_admitted(session.reject(now))),
            Bound::Refused(None) => Err(Rule::HandleKnown.into()),
        }
    }

    /// Sends the browser to the provider; or back, if the provider's address cannot
    /// be found out.
    async fn start_upstream_login(
        &mut self,
        login: PendingLogin,
        picker: AccountPicker,
    ) -> Result<BrowserAnswer, VisitError> {
        let seed = Seed::from_random(random::bytes32());
        let upstream_login =
            UpstreamLogin::for_session(seed, &login.session, self.handle, self.browser);
        let core = self.core;
        match core
            .redirect_to_provider(upstream_login, picker, self.observe)
            .await
        {
            Ok(redirect) => Ok(BrowserAnswer::ToProvider(redirect)),
            Err(failure) => {
                self.event.set_failure(failure.rule(), failure.why());
                self.end(login, failure.error()).await
            }
        }
    }

    /// Completes the login with an error, and sends the browser back.
    async fn end(
        &mut self,
        login: PendingLogin,
        error: LoginError,
    ) -> Result<BrowserAnswer, VisitError> {
        let outcome = LoginOutcome::Failed(error);
        let core = self.core;
        core.complete_session(self.handle, outcome, self.event)
            .await?;
        Ok(login.back())
    }

    /// The answer to a browser that may not have the login.
    fn not_admitted(&self, reason: NotAdmitted) -> VisitError {
        let (project, redirect_uri) = match reason {
            NotAdmitted::OtherBrowser => return Rule::HandleOneBrowser.into(),
            NotAdmitted::Over {
                project,
                redirect_uri,
            } => (project, redirect_uri),
        };
        match self.check_callback(&project, &redirect_uri) {
            Ok(_) => VisitError::Over(ClientRedirect::Clean {
                project,
                redirect_uri,
            }),
            Err(rule) => rule.into(),
        }
    }

    /// The project of `client_id`, if it still has this callback.
    fn check_callback(
        &self,
        client_id: &ClientId,
        redirect_uri: &RedirectUri,
    ) -> Result<Arc<Project>, Rule> {
        let project = self.core.projects.find(client_id);
        let project = project.ok_or(Rule::RedirectUriRegistered)?;
        project.check_callback(redirect_uri)?;
        Ok(project)
    }
}

/// A pending login that the visiting browser may have.
struct PendingLogin {
    session: LoginSession,
    project: Arc<Project>,
}

impl PendingLogin {
    /// The way back to the consumer.
    fn back(self) -> BrowserAnswer {
        BrowserAnswer::Back(ClientRedirect::Clean {
            project: self.session.project,
            redirect_uri: self.session.redirect_uri,
        })
    }
}

/// The reason why a browser does not get the login.
enum VisitError {
    /// The login is over: the browser goes back to the consumer.
    Over(ClientRedirect),
    Refused(Refused),
}

impl From<Rule> for VisitError {
    fn from(rule: Rule) -> Self {
        Self::Refused(rule.into())
    }
}

impl From<StoreError> for VisitError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.into())
    }
}
