//! A request at an address that browsers visit: its handle, its parameters, and the headers
//! in which a browser reports the start of a navigation.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use contract::{ClientId, RedirectUri, Rule};
use rocket::http::HeaderMap;
use rocket::http::uri::Origin;
use rocket::request::{FromParam, FromRequest, Outcome};
use rocket::sentinel::Sentinel;
use rocket::{Ignite, Request, Rocket};

use super::client;
use super::upstream_login_cookies::UpstreamLoginCookies;
use crate::Broker;
use crate::audit::{Event, Party};
use crate::http::context::{RequestContext, broker};
use crate::http::raw_headers::only;
use crate::model::login_session::Handle;
use crate::model::upstream_login::UpstreamLogin;
use crate::projects::{Project, Projects};
use crate::relay::{Fetch, Referrer, Visit};
use crate::untrusted::{Query, Repeated};
use crate::upstream::{Call, Failure};

/// A request by a browser, and the broker that serves it.
pub(crate) struct BrowserRequest<'r> {
    pub(crate) broker: &'r Broker,
    pub(crate) context: &'r RequestContext,
    pub(crate) uri: &'r Origin<'r>,
    pub(crate) cookies: UpstreamLoginCookies<'r>,
    pub(crate) client_addr: Option<IpAddr>,
}

impl BrowserRequest<'_> {
    /// The observer of the calls to a provider for this request, which records each at once, as
    /// an event of its own.
    pub(crate) fn call_observer(&self) -> impl Fn(&UpstreamLogin, Call) + Send + Sync {
        let (broker, context) = (self.broker, self.context);
        move |upstream_login, call| {
            let provider = upstream_login.provider;
            broker.audit.record(&Event {
                at: broker.core.now(),
                request_id: context.request_id().to_owned(),
                operation: call.operation.to_owned(),
                status: call.outcome.ok(),
                project: Some(upstream_login.project.clone()),
                provider: Some(provider),
                took: Some(call.took),
                login: Some(upstream_login.login.clone()),
                rule: call.outcome.err().map(Failure::rule),
                why: call.outcome.err().map(Failure::why),
                ..Event::between(Party::Broker, Party::Provider(provider))
            });
        }
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for BrowserRequest<'r> {
    type Error = Rule;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Rule> {
        let cookies = UpstreamLoginCookies::from_request(request).await;
        cookies.map(|cookies| Self {
            broker: broker(request),
            context: RequestContext::of(request),
            uri: request.uri(),
            cookies,
            client_addr: client::address(request),
        })
    }
}

impl Sentinel for BrowserRequest<'_> {
    fn abort(rocket: &Rocket<Ignite>) -> bool {
        rocket.state::<Broker>().is_none()
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Visit {
    type Error = Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Infallible> {
        let headers = request.headers();
        Outcome::Success(Visit {
            fetch: fetch(headers),
            referrer: referrer(headers),
        })
    }
}

/// The fetch metadata of a browser, which sends all three headers. The `fetch` of Node
/// sends `Sec-Fetch-Mode: cors` alone, and is not a browser.
fn fetch(headers: &HeaderMap<'_>) -> Option<Fetch> {
    let own = |name| only(headers, name).map(ToOwned::to_owned);
    let is_a_browsers = headers.iter().any(|header| {
        let name = header.name().as_str();
        starts_with(name, "sec-fetch-") && !name.eq_ignore_ascii_case("sec-fetch-mode")
    });
    is_a_browsers.then(|| Fetch {
        site: own("Sec-Fetch-Site"),
        mode: own("Sec-Fetch-Mode"),
        dest: own("Sec-Fetch-Dest"),
    })
}

fn starts_with(name: &str, start: &str) -> bool {
    let beginning = name.get(..start.len());
    beginning.is_some_and(|it| it.eq_ignore_ascii_case(start))
}

fn referrer(headers: &HeaderMap<'_>) -> Referrer {
    if !headers.contains("Referer") {
        return Referrer::Absent;
    }
    match only(headers, "Referer").map(url::Url::parse) {
        Some(Ok(page)) => Referrer::Page(page.origin().ascii_serialization()),
        _ => Referrer::Unreadable,
    }
}

impl FromParam<'_> for Handle {
    type Error = Infallible;

    fn from_param(segment: &str) -> Result<Self, Infallible> {
        Ok(Handle::presented(segment))
    }
}

/// The parameters of an address, if it has any.
pub(crate) fn query_of<'a>(uri: &'a Origin<'_>) -> Query<'a> {
    Query::parse(uri.query().map_or("", |query| query.as_str()))
}

/// The project and callback that a query names. Without a known client and one of
/// its own callbacks no redirect is safe.
pub(crate) fn destination(
    projects: &Projects,
    query: &Query<'_>,
) -> Result<(Arc<Project>, RedirectUri), Rule> {
    let client_id: ClientId = required(query, "client_id", Rule::AuthorizeClient)?;
    let project = projects.find(&client_id).ok_or(Rule::AuthorizeClient)?;
    let redirect_uri: RedirectUri = required(query, "redirect_uri", Rule::RedirectUriRegistered)?;
    project.check_callback(&redirect_uri)?;
    Ok((project, redirect_uri))
}

/// A required parameter, parsed; `rule` is broken when it is absent or malformed.
pub(crate) fn required<T: std::str::FromStr>(
    query: &Query<'_>,
    name: &str,
    rule: Rule,
) -> Result<T, Rule> {
    parameter(query, name)?
        .and_then(|text| text.parse().ok())
        .ok_or(rule)
}

/// An optional parameter, which comes at most once. Without a value it counts as omitted
/// (RFC 6749 section 3.1).
pub(crate) fn parameter(query: &Query<'_>, name: &str) -> Result<Option<String>, Rule> {
    let value = query.once(name).map_err(|Repeated| Rule::AuthorizeOnce)?;
    Ok(value.filter(|value| !value.is_empty()))
}
