//! The browser's part of the clean callback flow: the authorization URL, and the
//! page that asks whoever was not seen to come from the project.

use std::sync::Arc;

use contract::{Digest, LoginError, Rule};
use rocket::response::content::RawHtml;
use rocket::{Either, Request, State, get, head, post, response};

use super::context::Trace;
use super::login_session::settle;
use super::request::same_origin_post::SameOriginPost;
use super::request::upstream_login_cookies::UpstreamLogins;
use super::request::visitor::Visitor;
use super::response::client_redirect::{self, Fragment};
use super::response::headers::Pressable;
use super::response::pages;
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::audit::Step;
use crate::model::UnixMs;
use crate::model::login_session::{BrowserBinding, LoginOutcome, LoginSession};
use crate::model::upstream_login::{Seed, UpstreamLogin};
use crate::projects::Project;
use crate::random;
use crate::relay::{RelayDecision, RelayGuard};
use crate::store::{Bound, StoreError};
use crate::upstream::AccountPicker;

/// The way to the provider, or the page that asks first.
type Onward = Either<SeeOther, Pressable<RawHtml<String>>>;

/// The authorization URL: the first browser gets the login and an upstream login.
#[get("/login/<handle>")]
pub(super) async fn arrive(
    handle: &str,
    visitor: Visitor,
    upstream_logins: UpstreamLogins<'_>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Onward, TurnedAway> {
    let door = Door::reach(handle, Fragment::Inherited, &upstream_logins, broker, trace).await?;
    let starts = door.project.start_origins(&door.session.redirect_uri);
    let provenance = visitor.provenance(&starts);
    trace.began(provenance);
    broker.limits.visit(&door.session.project, provenance);
    let picker = match door.project.select_account.is_for(provenance) {
        true => AccountPicker::Shown,
        false => AccountPicker::LeftToThem,
    };
    let is_local = door.is_local() && visitor.is_plain(&starts, &broker.base_url);
    match door.passage(door.project.relay_guard.passage(provenance, is_local)) {
        RelayDecision::Bind => {
            door.claim().await?;
            Ok(Either::Left(door.depart(picker).await?))
        }
        RelayDecision::PassUnbound => Ok(Either::Left(door.depart(picker).await?)),
        RelayDecision::Ask => Ok(Either::Right(door.ask(handle))),
    }
}

/// HEAD would run the route above and claim; a link scanner must not.
#[head("/login/<_>")]
pub(super) fn look() {}

/// Continue, on the page that asks.
#[post("/login/<handle>/continue")]
pub(super) async fn go_on(
    handle: &str,
    _own: SameOriginPost,
    upstream_logins: UpstreamLogins<'_>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, TurnedAway> {
    let door = Door::reach(handle, Fragment::Ended, &upstream_logins, broker, trace).await?;
    door.claim().await?;
    Ok(door.depart(AccountPicker::Shown).await?)
}

/// Cancel, on the page that asks: nobody will sign in by this login any more.
#[post("/login/<handle>/cancel")]
pub(super) async fn cancel(
    handle: &str,
    _own: SameOriginPost,
    upstream_logins: UpstreamLogins<'_>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<SeeOther, TurnedAway> {
    let door = Door::reach(handle, Fragment::Ended, &upstream_logins, broker, trace).await?;
    door.claim().await?;
    trace.refused(Rule::RelayCancelled);
    Ok(door.end(LoginError::AccessDenied).await?)
}

/// A pending login, before a browser that may have it.
struct Door<'r> {
    handle: Digest,
    fragment: Fragment,
    browser: BrowserBinding,
    session: LoginSession,
    project: Arc<Project>,
    upstream_logins: &'r UpstreamLogins<'r>,
    broker: &'r Broker,
    trace: &'r Trace,
}

impl<'r> Door<'r> {
    /// Finds the login of `handle` and changes nothing.
    async fn reach(
        handle: &str,
        fragment: Fragment,
        upstream_logins: &'r UpstreamLogins<'r>,
        broker: &'r Broker,
        trace: &'r Trace,
    ) -> Result<Self, TurnedAway> {
        let handle = Digest::of(handle.as_bytes());
        let browser = upstream_logins
            .browser_of(&handle)
            .unwrap_or_else(|| BrowserBinding(Digest::from_bytes(random::bytes32())));
        let now = broker.now();
        let session = broker.store.find(handle, now).await?;
        let session = session.ok_or(Rule::HandleKnown)?;
        trace.project(&session.project);
        trace.login(&session.login);
        trace.provider(session.provider);
        if !session.admits(browser, now) {
            return Err(turn_away(session, now, broker, fragment));
        }
        let project = broker.projects.find(&session.project);
        let project = project.ok_or(Rule::RedirectUriRegistered)?;
        project.check_callback(&session.redirect_uri)?;
        Ok(Self {
            handle,
            fragment,
            browser,
            session,
            project,
            upstream_logins,
            broker,
            trace,
        })
    }

    /// Whether consumer, broker and provider are all on this machine.
    fn is_local(&self) -> bool {
        self.broker.base_url.is_loopback()
            && self.session.redirect_uri.origin().is_loopback()
            && self.broker.upstreams.is_loopback(self.session.provider)
    }

    /// The passage that the guard decided on, but for the browser that has the
    /// login already: it was asked, or need not be.
    fn passage(&self, decided: RelayDecision) -> RelayDecision {
        match self.session.bound_to {
            Some(_) => RelayDecision::Bind,
            None => decided,
        }
    }

    /// Shows the page that asks.
    fn ask(&self, handle: &str) -> Pressable<RawHtml<String>> {
        if self.project.relay_guard == RelayGuard::Auto {
            self.trace.refused(Rule::RelayStartOrigin);
        }
        pages::question(
            &self.project,
            &self.session.redirect_uri.origin(),
            self.session.provider,
            handle,
            self.trace.request_id(),
        )
    }

    /// Claims the login for this browser, unless another was faster.
    async fn claim(&self) -> Result<(), TurnedAway> {
        let now = self.broker.now();
        match self
            .broker
            .store
            .bind_browser(self.handle, self.browser, now)
            .await?
        {
            Bound::Granted(_) => {
                self.trace.committed(Step::Bound);
                Ok(())
            }
            Bound::Refused(Some(session)) => {
                Err(turn_away(session, now, self.broker, self.fragment))
            }
            Bound::Refused(None) => Err(Rule::HandleKnown.into()),
        }
    }

    /// Sends the browser to the provider; or home, if the provider cannot even say
    /// where that is.
    async fn depart(self, picker: AccountPicker) -> Result<SeeOther, StoreError> {
        let seed = Seed::from_random(random::bytes32());
        let upstream_login =
            UpstreamLogin::for_session(seed, &self.session, self.handle, self.browser);
        let hear = self.trace.of_calls(self.broker, upstream_login.provider);
        let upstreams = &self.broker.upstreams;
        match upstreams.departure(&upstream_login, picker, &hear).await {
            Ok(url) => {
                self.upstream_logins.depart(&upstream_login);
                Ok(to_provider(&url))
            }
            Err(failure) => {
                self.trace.failed(failure);
                self.end(failure.error()).await
            }
        }
    }

    /// Ends the login, and sends the browser home.
    async fn end(self, error: LoginError) -> Result<SeeOther, StoreError> {
        let outcome = LoginOutcome::Failed(error);
        settle(self.broker, self.trace, self.handle, outcome).await?;
        let LoginSession {
            project,
            redirect_uri,
            ..
        } = self.session;
        Ok(client_redirect::clean(
            self.broker,
            &project,
            redirect_uri,
            self.fragment,
        ))
    }
}

/// A redirect to a provider. The empty fragment ends whatever fragment the
/// browser came with, which would else reach the consumer's callback.
pub(super) fn to_provider(url: &str) -> SeeOther {
    SeeOther(format!("{url}#"))
}

/// The answer to a browser that may not have the login.
fn turn_away(
    session: LoginSession,
    now: UnixMs,
    broker: &Broker,
    fragment: Fragment,
) -> TurnedAway {
    let client_id = session.project.clone();
    let callback = session.turn_away(now).and_then(|callback| {
        let project = broker.projects.find(&client_id);
        let project = project.ok_or(Rule::RedirectUriRegistered)?;
        project.check_callback(&callback)?;
        Ok(callback)
    });
    match callback {
        Ok(callback) => TurnedAway::Home(client_redirect::clean(
            broker, &client_id, callback, fragment,
        )),
        Err(rule) => rule.into(),
    }
}

/// What a browser gets that is not sent on.
pub(super) enum TurnedAway {
    /// Its login is over: home.
    Home(SeeOther),
    /// A refusal.
    Refused(Refusal),
}

impl From<Rule> for TurnedAway {
    fn from(rule: Rule) -> Self {
        TurnedAway::Refused(rule.into())
    }
}

impl From<StoreError> for TurnedAway {
    fn from(error: StoreError) -> Self {
        TurnedAway::Refused(error.into())
    }
}

impl<'r> response::Responder<'r, 'static> for TurnedAway {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        match self {
            TurnedAway::Home(home) => home.respond_to(request),
            TurnedAway::Refused(refusal) => refusal.respond_to(request),
        }
    }
}
