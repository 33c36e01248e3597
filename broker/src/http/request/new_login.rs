//! The requests that begin a login.

use contract::Rule;
use rocket::request::{FromRequest, Outcome};
use rocket::sentinel::Sentinel;
use rocket::{Ignite, Request, Rocket};

use crate::Broker;
use crate::http::context::RequestContext;
use crate::http::response::refusal::Refusal;

/// A login that may begin. As a request guard it comes before the body, which an overloaded
/// broker does not read.
pub(crate) struct NewLogin;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for NewLogin {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        let broker = request.rocket().state::<Broker>();
        let limits = &broker.expect("the sentinel has checked it").core.limits;
        match limits.new_login() {
            Ok(()) => Outcome::Success(Self),
            Err(limit) => {
                let Refusal { status, refused } = limit.into();
                RequestContext::of(request).refuse(refused);
                Outcome::Error((status, refused.rule))
            }
        }
    }
}

impl Sentinel for NewLogin {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}
