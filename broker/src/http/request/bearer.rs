//! Bearer authentication.

use contract::{AccessToken, Rule};
use rocket::Request;
use rocket::request::{self, FromRequest};

use crate::http::context::RequestContext;
use crate::http::response::refusal::status;

/// The access token of the one `Authorization` header.
pub(crate) struct Bearer(pub(crate) AccessToken);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Bearer {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> request::Outcome<Self, Rule> {
        match bearer(request) {
            Some(token) => request::Outcome::Success(Bearer(token)),
            None => {
                let rule = Rule::BearerShape;
                RequestContext::of(request).refuse(rule.into());
                request::Outcome::Error((status(rule), rule))
            }
        }
    }
}

fn bearer(request: &Request<'_>) -> Option<AccessToken> {
    let mut headers = request.headers().get("Authorization");
    let (Some(header), None) = (headers.next(), headers.next()) else {
        return None;
    };
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start_matches(' ').parse().ok())?
}
