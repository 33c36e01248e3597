//! `GET /callback/{provider}`, the address that a provider sends browsers back to.
//!
//! The browser goes on to the consumer's callback, whatever became of the sign-in. The
//! exceptions are in the README's "The way back to the app".

use contract::{Provider, Rule};
use rocket::form::Form;
use rocket::http::uri::Origin;
use rocket::request::{FromRequest, Outcome};
use rocket::response::content::RawHtml;
use rocket::{Either, FromForm, FromFormField, Request, State, get, head, post};

use super::context::RequestContext;
use super::request::client_addr::ClientAddr;
use super::request::query_params::query_of;
use super::request::same_origin_post::SameOriginPost;
use super::request::upstream_login_cookies::UpstreamLoginCookies;
use super::response::client_redirect::{self, Fragment};
use super::response::headers::FormPage;
use super::response::pages::{self, FormTarget};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::sign_in::{self, CallbackResponse, CallbackStep};

/// The redirect to the consumer, or the confirmation page.
type Answer = Either<SeeOther, FormPage<RawHtml<String>>>;

#[get("/callback/<provider>")]
pub(super) async fn complete(
    provider: &str,
    request: ReturnRequest<'_>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Answer, Refusal> {
    request.answer(provider, None, broker, context).await
}

/// A button of the confirmation page. Its form has the page's own address, whose query is
/// the provider's: no page contains a provider's code.
#[post("/callback/<provider>", data = "<form>")]
pub(super) async fn confirm(
    provider: &str,
    _same_origin: SameOriginPost,
    request: ReturnRequest<'_>,
    form: Form<ConfirmationForm>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Answer, Refusal> {
    let button = Some(form.into_inner().answer);
    request.answer(provider, button, broker, context).await
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

/// HEAD would run the route above and consume the upstream login.
#[head("/callback/<provider>")]
pub(super) fn head(provider: &str) -> Result<(), Refusal> {
    known(provider).map(drop)
}

/// A request for the callback: its address, its cookies and the client's address.
pub(super) struct ReturnRequest<'r> {
    uri: &'r Origin<'r>,
    cookies: UpstreamLoginCookies<'r>,
    client_addr: ClientAddr,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for ReturnRequest<'r> {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        UpstreamLoginCookies::from_request(request)
            .await
            .map(|cookies| Self {
                uri: request.uri(),
                cookies,
                client_addr: ClientAddr::of(request),
            })
    }
}

impl ReturnRequest<'_> {
    /// Completes the sign-in, or asks first; `button` is the one that was pressed.
    async fn answer(
        self,
        provider: &str,
        button: Option<Button>,
        broker: &Broker,
        context: &RequestContext,
    ) -> Result<Answer, Refusal> {
        let (core, query) = (&broker.core, query_of(self.uri));
        let (upstream_login, same_traits) = self
            .cookies
            .take(known(provider)?, &query)
            .ok_or(Rule::UpstreamLoginOwnBrowser)?;
        let step = match button {
            None => CallbackStep::FromProvider(same_traits),
            Some(Button::Continue) => CallbackStep::Confirmed,
            Some(Button::Cancel) => CallbackStep::Cancelled,
        };
        let observe = context.call_observer(broker);
        let report = sign_in::complete(
            core,
            upstream_login,
            step,
            &query,
            self.client_addr.0,
            &observe,
        );
        // The redirect to the provider has ended any fragment that the browser came with.
        let fragment = Fragment::Ended;
        Ok(match context.log(report.await)? {
            CallbackResponse::Clean(to) => {
                Either::Left(client_redirect::clean(&core.base_url, to, fragment))
            }
            CallbackResponse::Legacy(to) => Either::Left(client_redirect::legacy(&to, fragment)),
            CallbackResponse::Confirm(confirmation) => Either::Right(pages::confirmation(
                &confirmation,
                &FormTarget::Here,
                context.request_id(),
            )),
        })
    }
}

fn known(provider: &str) -> Result<Provider, Refusal> {
    provider.parse().map_err(|_| Rule::RequestPath.into())
}
