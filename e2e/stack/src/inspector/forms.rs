//! The forms of the pages. They do the same as the JSON calls, and redirect back to their
//! page. The guard of the control address refuses forms of other origins.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a form by value"
)]

use std::sync::Arc;

use mock_upstream::{Next, Provider};
use rocket::form::Form;
use rocket::http::ext::IntoOwned as _;
use rocket::http::uri::Origin;
use rocket::request::{FromRequest, Outcome};
use rocket::response::Redirect;
use rocket::{FromForm, Request, State, post};

use crate::control::NOT_HELD;
use crate::control_error::{ControlError, parse_field};
use crate::faults::{Fault, FaultInjection};
use crate::misbehaviour_name;
use crate::operation::BrokerOperation;
use crate::runtime::StackRuntime;

type RedirectBack = Result<Redirect, ControlError>;

#[derive(FromForm)]
pub(super) struct AdvanceForm {
    seconds: f64,
}

#[post("/do/advance", data = "<form>")]
pub(super) fn advance(
    form: Form<AdvanceForm>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let advanced = runtime.clock.advance_seconds(form.seconds);
    advanced.map_err(ControlError::bad_request)?;
    back.redirect()
}

#[post("/do/reset")]
pub(super) async fn reset(runtime: &State<Arc<StackRuntime>>) -> RedirectBack {
    runtime.reset().await.map_err(ControlError::internal)?;
    // The login on the page is gone.
    Ok(Redirect::to("/"))
}

#[derive(FromForm)]
pub(super) struct MisbehaveForm<'r> {
    provider: &'r str,
    misbehaviour: &'r str,
}

#[post("/do/misbehave", data = "<form>")]
pub(super) fn misbehave(
    form: Form<MisbehaveForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let provider: Provider = parse_field("provider", form.provider)?;
    let misbehaviour = misbehaviour_name::parse(provider, form.misbehaviour.trim())?;
    let upstream = runtime.upstream.provider(provider);
    let queued = upstream.queue(Next::Misbehave(misbehaviour));
    queued.map_err(ControlError::bad_request)?;
    back.redirect()
}

#[derive(FromForm)]
pub(super) struct FaultForm<'r> {
    operation: &'r str,
    fault: &'r str,
}

#[post("/do/strike", data = "<form>")]
pub(super) fn arm_fault(
    form: Form<FaultForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let operation: BrokerOperation = parse_field("operation", form.operation)?;
    let fault: Fault = parse_field("fault", form.fault)?;
    runtime.faults().arm(FaultInjection::next(operation, fault));
    back.redirect()
}

#[derive(FromForm)]
pub(super) struct PlannedForm<'r> {
    provider: &'r str,
    id: u64,
}

/// Takes a planned sign-in back, if no sign-in was faster.
#[post("/do/take-back", data = "<form>")]
pub(super) fn take_back(
    form: Form<PlannedForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let provider = parse_field("provider", form.provider)?;
    runtime.upstream.provider(provider).remove_queued(form.id);
    back.redirect()
}

#[derive(FromForm)]
pub(super) struct ArmedForm {
    id: u64,
}

/// Disarms one fault, if it has not triggered.
#[post("/do/disarm", data = "<form>")]
pub(super) fn disarm(
    form: Form<ArmedForm>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    runtime.faults().disarm(form.id);
    back.redirect()
}

#[post("/do/clear")]
pub(super) fn clear_faults(
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    runtime.faults().clear();
    back.redirect()
}

#[derive(FromForm)]
pub(super) struct LetGoForm {
    id: u64,
}

#[post("/do/let-go", data = "<form>")]
pub(super) fn let_go(
    form: Form<LetGoForm>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    match runtime.faults().let_go(form.id) {
        true => back.redirect(),
        false => Err(ControlError::not_found(NOT_HELD)),
    }
}

#[derive(FromForm)]
pub(super) struct SendAgainForm<'r> {
    /// The `X-Request-Id` of the exchange.
    call: &'r str,
}

#[post("/do/send-again", data = "<form>")]
pub(super) async fn send_again(
    form: Form<SendAgainForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let answered = runtime.send_again(form.call).await;
    let answered = answered.map_err(ControlError::not_found)?;
    back.redirect_to_call(answered.as_deref())
}

/// The path of the page that a form is on, from its `Referer`.
pub(crate) struct ReturnPath<'r>(Option<Origin<'r>>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for ReturnPath<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        // The guard has checked that the origin is our own. Only the path is used.
        let referer = request.headers().get_one("Referer");
        let origin = request.headers().get_one("Origin").unwrap_or_default();
        let path = referer.and_then(|it| it.strip_prefix(origin));
        let path = path.filter(|it| !it.starts_with("//"));
        // A program can send any Referer, also one that is no URI.
        Outcome::Success(ReturnPath(path.and_then(|it| Origin::parse(it).ok())))
    }
}

impl ReturnPath<'_> {
    /// Redirects to the page with another exchange open, if it was a page with one.
    fn redirect_to_call(self, call: Option<&str>) -> RedirectBack {
        let (Some(page), Some(call)) = (&self.0, call) else {
            return self.redirect();
        };
        let shows_calls = page
            .query()
            .is_some_and(|query| query.as_str().starts_with("call="));
        if !shows_calls {
            return self.redirect();
        }
        let url = Origin::parse_owned(format!("{}?call={call}", page.path()));
        Ok(url.map_or_else(|_| Redirect::to("/"), Redirect::to))
    }

    pub(crate) fn redirect(self) -> RedirectBack {
        let page = self.0.map(Origin::into_owned);
        Ok(page.map_or_else(|| Redirect::to("/"), Redirect::to))
    }
}
