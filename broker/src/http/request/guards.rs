//! Guards that admit a request by its headers, or by the load: a bearer, a form of our own
//! page, a login that begins.

use contract::{AccessToken, Rule};
use rocket::request::{FromRequest, Outcome};
use rocket::sentinel::Sentinel;
use rocket::{Ignite, Request, Rocket};

use crate::Broker;
use crate::http::context::broker;
use crate::http::raw_headers::only;
use crate::http::response::refusal::Refusal;

/// The access token of the one `Authorization` header.
pub(crate) struct Bearer(pub(crate) AccessToken);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Bearer {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        match bearer(request) {
            Ok(token) => Outcome::Success(Bearer(token)),
            Err(rule) => Outcome::Error(Refusal::from(rule).at_guard(request)),
        }
    }
}

fn bearer(request: &Request<'_>) -> Result<AccessToken, Rule> {
    let mut headers = request.headers().get("Authorization");
    let header = headers.next().ok_or(Rule::BearerShape)?;
    if headers.next().is_some() {
        return Err(Rule::BearerOnce);
    }
    let token = match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token,
        _ => return Err(Rule::BearerShape),
    };
    let token = token.trim_start_matches(' ').parse();
    token.map_err(|_| Rule::BearerShape)
}

/// A form that was sent from a page of the broker. Any page on the web can make its
/// visitor's browser send a form here, but none can make it lie about the page's
/// origin.
pub(crate) struct SameOriginPost(());

#[rocket::async_trait]
impl<'r> FromRequest<'r> for SameOriginPost {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        let headers = request.headers();
        let is_ours = only(headers, "Origin") == Some(broker(request).core.base_url.as_str())
            && headers
                .get("Sec-Fetch-Site")
                .all(|site| site == "same-origin");
        if is_ours {
            Outcome::Success(SameOriginPost(()))
        } else {
            Outcome::Error(Refusal::from(Rule::RelayOwnPage).at_guard(request))
        }
    }
}

impl Sentinel for SameOriginPost {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}

/// A login that may begin. As a request guard it comes before the body, which an overloaded
/// broker does not read.
pub(crate) struct NewLogin(());

#[rocket::async_trait]
impl<'r> FromRequest<'r> for NewLogin {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        match broker(request).core.limits.new_login() {
            Ok(()) => Outcome::Success(Self(())),
            Err(limit) => Outcome::Error(Refusal::from(limit).at_guard(request)),
        }
    }
}

impl Sentinel for NewLogin {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}
