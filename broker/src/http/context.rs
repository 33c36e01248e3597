//! The context of one request: its id, and what its log line says.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::Rule;
use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::Broker;
use crate::audit::{Event, Party};
use crate::model::upstream_login::UpstreamLogin;
use crate::random;
use crate::sign_in::report::{LogFields, Refused, Report};
use crate::upstream::{Call, Failure};

/// The context of one request.
#[derive(Debug)]
pub(crate) struct RequestContext {
    request_id: String,
    log: OnceLock<LogFields>,
    refused: OnceLock<Refused>,
}

impl RequestContext {
    /// The context of `request`, made when it is first needed.
    pub(crate) fn of<'r>(request: &'r Request<'_>) -> &'r RequestContext {
        request.local_cache(|| RequestContext {
            request_id: request_id(),
            log: OnceLock::new(),
            refused: OnceLock::new(),
        })
    }

    /// The `X-Request-Id` of the answer; always the broker's, never the caller's.
    pub(crate) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Keeps the log fields of the use case that serves this request, and returns its
    /// result. A handler calls one use case, and this once.
    pub(crate) fn log<T>(&self, report: Report<T>) -> Result<T, Refused> {
        self.log
            .set(report.log)
            .expect("a request is served by one use case");
        report.result
    }

    /// The log fields of the use case that served the request, if one did.
    pub(crate) fn log_fields(&self) -> Option<&LogFields> {
        self.log.get()
    }

    /// Keeps the refusal of this request, for its log line and for the catcher, to which
    /// Rocket passes only the status. The first one stays.
    pub(crate) fn refuse(&self, refused: Refused) {
        self.refused.get_or_init(|| refused);
    }

    /// The refusal of this request, if it was refused.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused.get().copied()
    }

    /// The rule of the request's log line: that of its refusal, or else the one that
    /// its use case reports.
    pub(crate) fn rule(&self) -> Option<Rule> {
        let reported = || self.log.get().and_then(|log| log.rule);
        self.refused.get().map(|it| it.rule).or_else(reported)
    }

    /// An observer that records each call to a provider at once, as an event of its
    /// own.
    pub(crate) fn call_observer<'a>(
        &'a self,
        broker: &'a Broker,
    ) -> impl Fn(&UpstreamLogin, Call) + Send + Sync + 'a {
        move |upstream_login, call| {
            broker.audit.record(&Event {
                at: broker.core.now(),
                request_id: self.request_id.clone(),
                from: Party::Broker,
                to: Party::Provider(upstream_login.provider),
                operation: call.operation.to_owned(),
                status: call.outcome.ok(),
                project: Some(upstream_login.project.clone()),
                provider: Some(upstream_login.provider),
                took: Some(call.took),
                login: Some(upstream_login.login.clone()),
                provenance: None,
                same_traits: None,
                rule: call.outcome.err().map(Failure::rule),
                why: call.outcome.err().map(Failure::why),
                steps: Vec::new(),
            });
        }
    }
}

/// 16 random characters: enough to find a line in a log.
fn request_id() -> String {
    URL_SAFE_NO_PAD.encode(&random::bytes32()[..12])
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for &'r RequestContext {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(RequestContext::of(request))
    }
}
