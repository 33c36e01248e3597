//! `GET /login/{handle}`, the authorization URL, and the two buttons of its
//! confirmation page.

use rocket::response::content::RawHtml;
use rocket::{Either, State, get, head, post};

use super::context::RequestContext;
use super::request::same_origin_post::SameOriginPost;
use super::request::upstream_login_cookies::UpstreamLoginCookies;
use super::request::visitor::Visitor;
use super::response::client_redirect::{self, Fragment};
use super::response::headers::FormPage;
use super::response::pages::{self, FormTarget};
use super::response::refusal::Refusal;
use super::response::see_other::SeeOther;
use crate::Broker;
use crate::model::login_session::Handle;
use crate::sign_in::clean::{LoginVisit, VisitRedirect, VisitResponse};

#[get("/login/<handle>")]
pub(super) async fn open(
    handle: Handle,
    visitor: Visitor,
    cookies: UpstreamLoginCookies<'_>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<Either<SeeOther, FormPage<RawHtml<String>>>, Refusal> {
    let observe = context.call_observer(broker);
    let visit = LoginVisit::new(&broker.core, &observe, &handle, cookies.browser_of(&handle));
    Ok(match context.log(visit.open(&visitor).await)? {
        VisitResponse::Redirect(to) => {
            Either::Left(redirect(to, Fragment::Inherited, &cookies, broker))
        }
        VisitResponse::Confirm(confirmation) => Either::Right(pages::confirmation(
            &confirmation,
            &FormTarget::Login(&handle),
            context.request_id(),
        )),
    })
}

/// HEAD would run the route above and bind the login; a link scanner must not.
#[head("/login/<_>")]
pub(super) fn head() {}

#[post("/login/<handle>/continue")]
pub(super) async fn confirm(
    handle: Handle,
    _same_origin: SameOriginPost,
    cookies: UpstreamLoginCookies<'_>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<SeeOther, Refusal> {
    let observe = context.call_observer(broker);
    let visit = LoginVisit::new(&broker.core, &observe, &handle, cookies.browser_of(&handle));
    let to = context.log(visit.confirm().await)?;
    Ok(redirect(to, Fragment::Ended, &cookies, broker))
}

#[post("/login/<handle>/cancel")]
pub(super) async fn cancel(
    handle: Handle,
    _same_origin: SameOriginPost,
    cookies: UpstreamLoginCookies<'_>,
    broker: &State<Broker>,
    context: &RequestContext,
) -> Result<SeeOther, Refusal> {
    let observe = context.call_observer(broker);
    let visit = LoginVisit::new(&broker.core, &observe, &handle, cookies.browser_of(&handle));
    let to = context.log(visit.cancel().await)?;
    Ok(redirect(to, Fragment::Ended, &cookies, broker))
}

fn redirect(
    to: VisitRedirect,
    fragment: Fragment,
    cookies: &UpstreamLoginCookies<'_>,
    broker: &Broker,
) -> SeeOther {
    match to {
        VisitRedirect::ToProvider(to) => cookies.redirect_to_provider(&to),
        VisitRedirect::Back(to) => client_redirect::clean(&broker.core.base_url, to, fragment),
    }
}
