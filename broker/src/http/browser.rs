//! The addresses that browsers visit: `/login/{handle}`, the authorization URL, with the two buttons of its
//! confirmation page; `/authorize`, the start of the legacy flow; `/callback/{provider}`, the
//! address that a provider sends browsers back to; `/return`; and the files of the pages.
//!
//! HEAD would run the handler of GET, and bind or consume a login, or set a cookie; a link
//! scanner must not. So each path but those of the files answers HEAD by a handler of its own.

use contract::{Provider, Rule, State};
use rocket::form::Form;
use rocket::http::uri::Origin;
use rocket::response::content::{RawCss, RawHtml, RawJavaScript};
use rocket::{Either, FromForm, FromFormField, get, head, post};

use super::context::RequestContext;
use super::request::browser_request::{BrowserRequest, destination, parameter, query_of, required};
use super::request::guards::{NewLogin, SameOriginPost};
use super::response::pages::{self, FormPage, FormTarget};
use super::response::redirect::{self, Fragment, SeeOther};
use super::response::refusal::Refusal;
use crate::Broker;
use crate::model::login_session::Handle;
use crate::relay::Visit;
use crate::sign_in::BrowserAnswer;
use crate::sign_in::callback::{CallbackStep, Returned};
use crate::sign_in::clean::{LoginVisit, VisitStep};
use crate::sign_in::legacy::{self, AuthorizeParams, AuthorizeRequest};
use crate::untrusted::Query;

/// A redirect, or the confirmation page.
type BrowserResponse = Either<SeeOther, FormPage<RawHtml<String>>>;

/// The response to `answer`: `fragment` is that of the browser's address, and `form` the target
/// of the confirmation page.
fn respond(
    answer: BrowserAnswer,
    fragment: Fragment,
    form: &FormTarget<'_>,
    browser: &BrowserRequest<'_>,
) -> BrowserResponse {
    let base_url = &browser.broker.core.base_url;
    match answer {
        BrowserAnswer::ToProvider(to) => Either::Left(browser.cookies.redirect_to_provider(&to)),
        BrowserAnswer::Back(to) => Either::Left(redirect::to_client(base_url, to, fragment)),
        BrowserAnswer::Confirm(confirmation) => {
            let request_id = browser.context.request_id();
            Either::Right(pages::confirmation(&confirmation, form, request_id))
        }
    }
}

#[get("/login/<handle>")]
pub(super) async fn open(
    handle: Handle,
    visit: Visit,
    browser: BrowserRequest<'_>,
) -> Result<BrowserResponse, Refusal> {
    visit_login(&handle, VisitStep::Open(&visit), &browser).await
}

#[head("/login/<_>")]
pub(super) fn open_head() {}

#[post("/login/<handle>/continue")]
pub(super) async fn confirm(
    handle: Handle,
    _same_origin: SameOriginPost,
    browser: BrowserRequest<'_>,
) -> Result<BrowserResponse, Refusal> {
    visit_login(&handle, VisitStep::Confirm, &browser).await
}

#[post("/login/<handle>/cancel")]
pub(super) async fn cancel(
    handle: Handle,
    _same_origin: SameOriginPost,
    browser: BrowserRequest<'_>,
) -> Result<BrowserResponse, Refusal> {
    visit_login(&handle, VisitStep::Cancel, &browser).await
}

async fn visit_login(
    handle: &Handle,
    step: VisitStep<'_>,
    browser: &BrowserRequest<'_>,
) -> Result<BrowserResponse, Refusal> {
    let (mut event, observe) = (browser.context.event(), browser.call_observer());
    let binding = browser.cookies.browser_of(handle);
    let login = LoginVisit::new(&browser.broker.core, &observe, handle, binding, &mut event);
    let fragment = match step {
        VisitStep::Open(_) => Fragment::Inherited,
        VisitStep::Confirm | VisitStep::Cancel => Fragment::Ended,
    };
    let answer = login.answer(step).await?;
    Ok(respond(
        answer,
        fragment,
        &FormTarget::Login(handle),
        browser,
    ))
}

#[get("/authorize")]
pub(super) async fn authorize(
    _new: NewLogin,
    visit: Visit,
    browser: BrowserRequest<'_>,
) -> Result<SeeOther, Refusal> {
    let request = read(&query_of(browser.uri), browser.broker)?;
    let (mut event, observe) = (browser.context.event(), browser.call_observer());
    let core = &browser.broker.core;
    let started = legacy::authorize(core, request, &visit, &observe, &mut event).await;
    Ok(match started {
        Ok(redirect) => browser.cookies.redirect_to_provider(&redirect),
        Err(back) => redirect::to_client(&core.base_url, back, Fragment::Inherited),
    })
}

#[head("/authorize")]
pub(super) fn authorize_head() {}

fn read(query: &Query<'_>, broker: &Broker) -> Result<AuthorizeRequest, Rule> {
    let (project, redirect_uri) = destination(&broker.core.projects, query)?;
    Ok(AuthorizeRequest {
        project,
        redirect_uri,
        state: state(query).ok(),
        params: params(query),
    })
}

fn params(query: &Query<'_>) -> Result<AuthorizeParams, Rule> {
    let params = AuthorizeParams {
        state: state(query)?,
        provider: required(query, "provider", Rule::ProviderKnown)?,
        challenge: required(query, "code_challenge", Rule::CodeChallengePattern)?,
    };
    match parameter(query, "code_challenge_method")?.as_deref() {
        Some("S256") => {}
        _ => return Err(Rule::AuthorizeChallengeMethod),
    }
    match parameter(query, "response_type")?.as_deref() {
        None | Some("code") => Ok(params),
        Some(_) => Err(Rule::AuthorizeResponseType),
    }
}

fn state(query: &Query<'_>) -> Result<State, Rule> {
    required(query, "state", Rule::StatePattern)
}

/// The browser goes on to the consumer's callback, whatever became of the sign-in. The
/// exceptions are in the README's "The way back to the app".
#[get("/callback/<provider>")]
pub(super) async fn complete(
    provider: &str,
    browser: BrowserRequest<'_>,
) -> Result<BrowserResponse, Refusal> {
    complete_by(None, provider, browser).await
}

/// A button of the confirmation page. Its form has the page's own address, whose query is
/// the provider's: no page contains a provider's code.
#[post("/callback/<provider>", data = "<form>")]
pub(super) async fn complete_confirmed(
    provider: &str,
    _same_origin: SameOriginPost,
    browser: BrowserRequest<'_>,
    form: Form<ConfirmationForm>,
) -> Result<BrowserResponse, Refusal> {
    complete_by(Some(form.into_inner().answer), provider, browser).await
}

#[derive(FromForm)]
pub(super) struct ConfirmationForm {
    answer: Button,
}

#[derive(FromFormField)]
enum Button {
    Continue,
    Cancel,
}

#[head("/callback/<provider>")]
pub(super) fn complete_head(provider: &str) -> Result<(), Refusal> {
    known(provider).map(drop)
}

fn known(provider: &str) -> Result<Provider, Refusal> {
    provider.parse().map_err(|_| Rule::RequestPath.into())
}

/// Completes the sign-in, or asks first; `button` is the one that was pressed.
async fn complete_by(
    button: Option<Button>,
    provider: &str,
    mut browser: BrowserRequest<'_>,
) -> Result<BrowserResponse, Refusal> {
    let (provider, query) = (known(provider)?, query_of(browser.uri));
    let (upstream_login, same_traits) = browser
        .cookies
        .take(provider, &query)
        .ok_or(Rule::UpstreamLoginOwnBrowser)?;
    let (mut event, observe) = (browser.context.event(), browser.call_observer());
    let returned = Returned {
        core: &browser.broker.core,
        upstream_login,
        step: match button {
            None => CallbackStep::FromProvider(same_traits),
            Some(Button::Continue) => CallbackStep::Confirmed,
            Some(Button::Cancel) => CallbackStep::Cancelled,
        },
        query: &query,
        observe: &observe,
    };
    let answer = returned.complete(browser.client_addr, &mut event).await?;
    // The redirect to the provider has ended any fragment that the browser came with.
    Ok(respond(
        answer,
        Fragment::Ended,
        &FormTarget::Here,
        &browser,
    ))
}

/// Ends the fragment that a browser may have come with: redirects from an address that ends
/// in an empty fragment to the clean callback, byte for byte. It knows registered callbacks
/// only, and nothing of any login.
#[get("/return")]
pub(super) fn end_fragment(
    uri: &Origin<'_>,
    broker: &rocket::State<Broker>,
    context: &RequestContext,
) -> Result<SeeOther, Refusal> {
    let (project, redirect_uri) = destination(&broker.core.projects, &query_of(uri))?;
    // Kept by the context at the end of this statement.
    context.event().project = Some(project.client_id.clone());
    Ok(SeeOther(redirect_uri.into()))
}

#[head("/return")]
pub(super) fn end_fragment_head() {}

/// The stylesheet of every page.
#[get("/style.css")]
pub(super) fn style() -> RawCss<&'static str> {
    RawCss(include_str!("../../templates/style.css"))
}

/// The script that keeps Continue from being pressed by mistake.
#[get("/question.js")]
pub(super) fn script() -> RawJavaScript<&'static str> {
    RawJavaScript(include_str!("../../templates/question.js"))
}
