//! The forms of the confirmation page.

use contract::Rule;
use rocket::request::{FromRequest, Outcome};
use rocket::sentinel::Sentinel;
use rocket::{Ignite, Request, Rocket};

use crate::Broker;
use crate::http::context::RequestContext;
use crate::http::raw_headers::only;
use crate::http::response::refusal::status;

/// A form that was sent from a page of the broker. Any page on the web can make its
/// visitor's browser send a form here, but none can make it lie about the page's
/// origin.
pub(crate) struct SameOriginPost(());

#[rocket::async_trait]
impl<'r> FromRequest<'r> for SameOriginPost {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        let broker = request
            .rocket()
            .state::<Broker>()
            .expect("the sentinel has checked it");
        let headers = request.headers();
        let is_ours = only(headers, "Origin") == Some(broker.core.base_url.as_str())
            && headers
                .get("Sec-Fetch-Site")
                .all(|site| site == "same-origin");
        if is_ours {
            Outcome::Success(SameOriginPost(()))
        } else {
            let rule = Rule::RelayOwnPage;
            RequestContext::of(request).refuse(rule.into());
            Outcome::Error((status(rule), rule))
        }
    }
}

impl Sentinel for SameOriginPost {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}
