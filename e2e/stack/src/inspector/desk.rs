//! The forms of the page. They do what the JSON calls do, and lead back to the page
//! that they were on; only that page may send them.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Rocket hands a form over by value"
)]

use std::sync::Arc;

use mock_upstream::{Misbehaviour, Next, Provider};
use rocket::form::Form;
use rocket::http::ext::IntoOwned as _;
use rocket::http::uri::Origin;
use rocket::request::{FromRequest, Outcome};
use rocket::response::Redirect;
use rocket::{FromForm, Request, State, post};

use crate::control::{self, Refused, parsed};
use crate::faults::{Fault, Order};
use crate::operation::Operation;
use crate::world::World;

type Back = Result<Redirect, Refused>;

#[derive(FromForm)]
pub(super) struct Step {
    seconds: f64,
}

#[post("/do/advance", data = "<step>")]
pub(super) fn advance(step: Form<Step>, from: From<'_>, world: &State<Arc<World>>) -> Back {
    control::advance(world, step.seconds)?;
    from.back()
}

#[post("/do/reset")]
pub(super) async fn reset(world: &State<Arc<World>>) -> Back {
    let begun = world.reset().await;
    begun.map_err(|error| Refused::failed(error.to_string()))?;
    // The login that was on the page is gone.
    Ok(Redirect::to("/"))
}

#[derive(FromForm)]
pub(super) struct Wrong<'r> {
    /// A provider and one of its misbehaviours: `google bad_signature`.
    what: &'r str,
}

#[post("/do/misbehave", data = "<wrong>")]
pub(super) fn misbehave(wrong: Form<Wrong<'_>>, from: From<'_>, world: &State<Arc<World>>) -> Back {
    let (provider, name) = wrong.what.split_once(' ').unwrap_or_default();
    let provider: Provider = parsed("what", provider)?;
    let misbehaviour = Misbehaviour::parse(provider, name)
        .map_err(|error| Refused::bad(format!("what: {error}")))?;
    let upstream = world.upstream.provider(provider);
    upstream
        .queue(Next::Misbehave(misbehaviour))
        .map_err(|error| Refused::bad(error.to_string()))?;
    from.back()
}

#[derive(FromForm)]
pub(super) struct Strike<'r> {
    operation: &'r str,
    fault: &'r str,
}

#[post("/do/strike", data = "<strike>")]
pub(super) fn strike(strike: Form<Strike<'_>>, from: From<'_>, world: &State<Arc<World>>) -> Back {
    let operation: Operation = parsed("operation", strike.operation)?;
    let fault: Fault = parsed("fault", strike.fault)?;
    world.watch.faults.arm(Order::next(operation, fault));
    from.back()
}

#[post("/do/clear")]
pub(super) fn clear(from: From<'_>, world: &State<Arc<World>>) -> Back {
    world.watch.faults.clear();
    from.back()
}

/// The page that a form was on, as its `Referer` tells.
pub(super) struct From<'r>(Option<Origin<'r>>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for From<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        // The guard has seen that the origin is our own; of the page, only the path.
        let referer = request.headers().get_one("Referer");
        let origin = request.headers().get_one("Origin").unwrap_or_default();
        let path = referer.and_then(|it| it.strip_prefix(origin));
        let path = path.filter(|it| !it.starts_with("//"));
        // Anybody can write a Referer: one that is no address cannot be gone back to.
        Outcome::Success(From(path.and_then(|it| Origin::parse(it).ok())))
    }
}

impl From<'_> {
    fn back(self) -> Back {
        let page = self.0.map(Origin::into_owned);
        Ok(page.map_or_else(|| Redirect::to("/"), Redirect::to))
    }
}
