//! The guards that admit a request: by the credentials of a project in its body, by a bearer
//! token, by the page that sent its form, or by the load.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use contract::{
    AccessToken, ClientSecret, LoginResultRequest, LoginSessionRequest, Rule, TokenRequest,
};
use rocket::data::{self, Capped, Data, FromData, ToByteUnit as _};
use rocket::http::Status;
use rocket::request::{FromRequest, Outcome};
use rocket::sentinel::Sentinel;
use rocket::serde::DeserializeOwned;
use rocket::{Ignite, Request, Rocket};

use super::client;
use crate::Broker;
use crate::http::context::broker;
use crate::http::raw_headers::{has_encoded_body, is_json, only};
use crate::http::response::refusal::{Refusal, outcome};
use crate::projects::Project;
use crate::sign_in::BrokerCore;

/// Room for the largest legitimate request with every character escaped, and little
/// more.
const MAX_BODY_KIB: u64 = 32;

/// A request body whose sender is a project's backend.
pub(crate) struct Authenticated<T> {
    pub(crate) project: Arc<Project>,
    request: T,
}

impl<T> Deref for Authenticated<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.request
    }
}

/// A body with client credentials in it.
pub(crate) trait ClientRequest: DeserializeOwned + Send {
    /// The status for an unrecognised client at this endpoint.
    const UNRECOGNISED: Status;

    fn client_id(&self) -> &str;
    fn client_secret(&self) -> &ClientSecret;
}

macro_rules! client_requests {
    ($($request:ty => $unrecognised:ident;)+) => {$(
        impl ClientRequest for $request {
            const UNRECOGNISED: Status = Status::$unrecognised;

            fn client_id(&self) -> &str {
                self.client_id.as_str()
            }

            fn client_secret(&self) -> &ClientSecret {
                &self.client_secret
            }
        }
    )+};
}

client_requests! {
    LoginSessionRequest => Unauthorized;
    // The spec shows no status but 400 for a refused result.
    LoginResultRequest => BadRequest;
    TokenRequest => Unauthorized;
}

#[rocket::async_trait]
impl<'r, T: ClientRequest> FromData<'r> for Authenticated<T> {
    type Error = Rule;

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> data::Outcome<'r, Self, Rule> {
        outcome(authenticate(request, data).await, request)
    }
}

async fn authenticate<T: ClientRequest>(
    request: &Request<'_>,
    data: Data<'_>,
) -> Result<Authenticated<T>, Refusal> {
    let BrokerCore {
        projects, limits, ..
    } = &broker(request).core;
    let body: T = json(request, data, limits.body_timeout).await?;
    match projects.authenticate(body.client_id(), body.client_secret()) {
        Ok(project) => Ok(Authenticated {
            project,
            request: body,
        }),
        Err(rule) => {
            // Only wrong credentials are counted: the right ones cannot be locked out.
            limits.wrong_secret(body.client_id(), client::address(request))?;
            Err(Refusal {
                status: T::UNRECOGNISED,
                refused: rule.into(),
            })
        }
    }
}

impl<T> Sentinel for Authenticated<T> {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}

/// The body as one JSON object. Rocket's own guard would write a body that it
/// cannot parse to the log, secrets included.
async fn json<T: DeserializeOwned>(
    request: &Request<'_>,
    data: Data<'_>,
    timeout: Duration,
) -> Result<T, Rule> {
    if !is_json(request.headers()) {
        return Err(Rule::BodyMediaType);
    }
    if has_encoded_body(request.headers()) {
        return Err(Rule::BodyEncoding);
    }
    let bytes = read(data, timeout).await?;
    if !bytes.is_complete() {
        return Err(Rule::BodySize);
    }
    // serde would also take an array of the fields' values in their order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Rule::BodyJson);
    }
    serde_json::from_slice(&bytes).map_err(|error| broken_rule(&error))
}

/// Reads the body up to the cap, within this time.
#[expect(
    clippy::disallowed_methods,
    reason = "it waits for a client, which may never go on"
)]
async fn read(data: Data<'_>, timeout: Duration) -> Result<Capped<Vec<u8>>, Rule> {
    let body = data.open(MAX_BODY_KIB.kibibytes()).into_bytes();
    match tokio::time::timeout(timeout, body).await {
        Ok(bytes) => bytes.map_err(|_| Rule::RequestHttp),
        Err(_) => Err(Rule::BodyTime),
    }
}

/// The rule behind a parser's error. Only its fixed beginning is looked at: what
/// follows may repeat the input.
fn broken_rule(error: &serde_json::Error) -> Rule {
    let message = error.to_string();
    let shape = [
        ("unknown field", Rule::BodyUnknownField),
        ("duplicate field", Rule::BodyDuplicateField),
        ("missing field", Rule::BodyMissingField),
        ("invalid type", Rule::BodyFieldType),
    ];
    Rule::begun_by(&message)
        .or_else(|| {
            shape
                .iter()
                .find(|(start, _)| message.starts_with(start))
                .map(|(_, rule)| *rule)
        })
        .unwrap_or(Rule::BodyJson)
}

/// The access token of the one `Authorization` header.
pub(crate) struct Bearer(pub(crate) AccessToken);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Bearer {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        outcome(bearer(request).map(Bearer), request)
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
        let admitted = is_ours.then_some(SameOriginPost(()));
        outcome(admitted.ok_or(Rule::RelayOwnPage), request)
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
        let admitted = broker(request).core.limits.new_login();
        outcome(admitted.map(Self), request)
    }
}

impl Sentinel for NewLogin {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}
