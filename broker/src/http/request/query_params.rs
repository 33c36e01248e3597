//! The parameters of an address that browsers visit.

use std::sync::Arc;

use contract::{ClientId, RedirectUri, Rule};
use rocket::http::uri::Origin;

use crate::projects::{Project, Projects};
use crate::query::{Query, Repeated};

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
