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
            Ok(token) => request::Outcome::Success(Bearer(token)),
            Err(rule) => {
                RequestContext::of(request).refuse(rule.into());
                request::Outcome::Error((status(rule), rule))
            }
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
