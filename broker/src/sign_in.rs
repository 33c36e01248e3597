//! The use cases of both flows: everything between a parsed request and its answer.
//!
//! A use case takes parsed values, asks the [`store`](crate::store) for its steps and
//! a provider for the user, and returns a [`Report`]: the result, and the fields of
//! the request's log line. Statuses, headers, cookies and pages are the business of
//! [`http`](crate::http).

pub(crate) mod clean;
pub(crate) mod legacy;
pub(crate) mod report;

mod broker_core;
mod confirmation;
mod returned;

use std::net::IpAddr;

use contract::Rule;

use crate::model::upstream_login::{Purpose, UpstreamLogin};
use crate::query::Query;
use crate::relay::SameTraits;
use clean::CleanCallback;
use legacy::LegacyCallback;
use report::{LogFields, Refused, Report};
use returned::Returned;

pub(crate) use broker_core::{BrokerCore, CallObserver, ProviderRedirect};
pub(crate) use confirmation::{Confirmation, Question};

/// The answer to a browser that is back from its provider: the consumer's callback, or a
/// question.
pub(crate) enum CallbackResponse {
    Clean(CleanCallback),
    Legacy(LegacyCallback),
    /// The user is asked for confirmation, and nothing is consumed.
    Confirm(Confirmation),
}

/// The step by which a browser comes to the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallbackStep {
    /// From its provider, with these traits of the browser that was redirected there.
    FromProvider(SameTraits),
    /// By Continue on the confirmation page.
    Confirmed,
    /// By Cancel on the confirmation page.
    Cancelled,
}

/// Completes the sign-in of a browser that is back from its provider with
/// `upstream_login`, by the query of the provider's callback.
pub(crate) async fn complete(
    core: &BrokerCore,
    upstream_login: UpstreamLogin,
    step: CallbackStep,
    query: &Query<'_>,
    client_addr: Option<IpAddr>,
    observe: CallObserver<'_>,
) -> Report<CallbackResponse> {
    let mut log = LogFields {
        project: Some(upstream_login.project.clone()),
        login: Some(upstream_login.login.clone()),
        provider: Some(upstream_login.provider),
        same_traits: match step {
            CallbackStep::FromProvider(same) => Some(same),
            CallbackStep::Confirmed | CallbackStep::Cancelled => None,
        },
        ..LogFields::default()
    };
    let returned = Returned {
        core,
        upstream_login,
        step,
        query,
        observe,
    };
    let result = redirect_back(returned, client_addr, &mut log).await;
    Report { log, result }
}

async fn redirect_back(
    returned: Returned<'_>,
    client_addr: Option<IpAddr>,
    log: &mut LogFields,
) -> Result<CallbackResponse, Refused> {
    returned.core.limits.callback(client_addr)?;
    let redirect_uri = returned.redirect_uri();
    let redirect_uri = redirect_uri.ok_or(Rule::RedirectUriRegistered)?;
    if let Some(confirmation) = returned.confirmation(&redirect_uri) {
        log.rule = Some(Rule::UpstreamLoginSameTraits);
        return Ok(CallbackResponse::Confirm(confirmation));
    }
    Ok(match &returned.upstream_login.purpose {
        Purpose::Clean { handle, .. } => {
            CallbackResponse::Clean(clean::complete(&returned, *handle, redirect_uri, log).await?)
        }
        Purpose::Legacy { state, challenge } => CallbackResponse::Legacy(
            legacy::complete(&returned, state, challenge, redirect_uri, log).await?,
        ),
    })
}
