//! The audit log: one event for each request and for each call to a provider, and the
//! rule of each refusal.
//!
//! An event contains ids, never a secret, a URI or a body. It goes to the log and to the
//! subscribers, which see the same events in the same order.

use std::sync::Arc;
use std::time::Duration;

use contract::{ClientId, Provider, Rule};

use crate::clock::whole_ms;
use crate::model::{LoginId, UnixMs};
use crate::relay::{Provenance, SameTraits};

/// A request, or a call to a provider, at its end.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// The time of its end.
    pub at: UnixMs,
    /// The `X-Request-Id` of the answer that it belongs to.
    pub request_id: String,
    /// The caller.
    pub from: Party,
    /// The called party.
    pub to: Party,
    /// Method and route, as `POST /v1/token`, or the operation of a provider, as `POST
    /// token`; never the path as it was sent.
    pub operation: String,
    /// The HTTP status of the answer; none if a provider gave no answer.
    pub status: Option<u16>,
    /// The project of its login.
    pub project: Option<ClientId>,
    /// The provider of its login.
    pub provider: Option<Provider>,
    /// The id of its login.
    pub login: Option<LoginId>,
    /// The provenance of the visit that it answers.
    pub provenance: Option<Provenance>,
    /// The traits that a browser, back from its provider, shares with the one that was
    /// redirected there.
    pub same_traits: Option<SameTraits>,
    /// The rule that refused it, that demanded confirmation, or by which the login
    /// failed.
    pub rule: Option<Rule>,
    /// The reason behind the rule, in fixed words.
    pub why: Option<&'static str>,
    /// The duration: of a request by the broker's clock, of a call by the machine's.
    pub took: Option<Duration>,
    /// Its steps that were committed to the store, in their order.
    pub steps: Vec<Step>,
}

impl Event {
    /// An event between these parties, to be filled in.
    pub fn between(from: Party, to: Party) -> Self {
        Self {
            from,
            to,
            ..Self::default()
        }
    }

    /// Sets the rule by which a login failed, and the reason in fixed words.
    pub(crate) fn set_failure(&mut self, rule: Rule, why: &'static str) {
        self.rule = Some(rule);
        self.why = Some(why);
    }

    /// Whether any step was committed to the store.
    pub fn committed(&self) -> bool {
        !self.steps.is_empty()
    }
}

/// A party to a login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Party {
    /// The user's browser.
    Browser,
    /// The consumer's backend.
    Consumer,
    /// This broker.
    #[default]
    Broker,
    /// The provider that the user signs in with.
    Provider(Provider),
}

impl Party {
    /// Its name: `browser`, `consumer`, `broker`, or the provider's identifier.
    pub fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Consumer => "consumer",
            Self::Broker => "broker",
            Self::Provider(provider) => provider.as_str(),
        }
    }
}

/// Declares the steps, each with its name and meaning.
macro_rules! steps {
    ($($step:ident = $name:literal, $meaning:literal;)+) => {
        /// A step that was committed, in the words of [`model`](crate::model).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Step {
            $(#[doc = $meaning] $step,)+
        }

        impl Step {
            /// All of them, in the order in which logins take them.
            pub const ALL: &[Self] = &[$(Self::$step),+];

            /// Its name in the log and elsewhere.
            pub fn name(self) -> &'static str {
                match self { $(Self::$step => $name,)+ }
            }

            /// Its meaning, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$step => $meaning,)+ }
            }
        }
    };
}

steps! {
    Opened = "opened", "A login is pending.";
    Bound = "bound", "The login is bound to a browser.";
    UpstreamLoginConsumed = "upstream_login_consumed", "The upstream login cannot be used again.";
    Completed = "completed", "The login has an outcome.";
    ResultConsumed = "result_consumed", "The outcome was read, and cannot be read again.";
    CodeIssued = "code_issued", "A handoff code waits for its redemption.";
    CodeRedeemed = "code_redeemed", "The code became an access token.";
    TokenRevoked = "token_revoked", "The access token is no longer good.";
}

/// A function that receives every event. It must not block.
pub type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;

/// The target of the audit log's lines.
pub(crate) const LOG_TARGET: &str = "audit";

/// The audit log, which writes events to the log and passes them to its subscribers.
#[derive(Clone, Default)]
pub struct AuditLog {
    subscribers: Vec<Subscriber>,
    pages_at: Option<String>,
}

impl AuditLog {
    /// An audit log without subscribers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same audit log with one more subscriber.
    #[must_use]
    pub fn subscribed(mut self, subscriber: Subscriber) -> Self {
        self.subscribers.push(subscriber);
        self
    }

    /// The same audit log for a broker whose logins have pages at this origin, as in the
    /// stack: a line with a rule names its page.
    #[must_use]
    pub fn with_pages_at(self, origin: String) -> Self {
        Self {
            pages_at: Some(origin),
            ..self
        }
    }

    /// Records one event.
    pub fn record(&self, event: &Event) {
        self.log(event);
        for subscriber in &self.subscribers {
            subscriber(event);
        }
    }

    fn log(&self, event: &Event) {
        if !is_logged(event) {
            return;
        }
        let steps: Vec<_> = event.steps.iter().map(|step| step.name()).collect();
        tracing::info!(
            target: LOG_TARGET,
            at_ms = event.at.0,
            took_ms = event.took.map(whole_ms),
            request_id = event.request_id,
            from = event.from.name(),
            to = event.to.name(),
            operation = event.operation,
            status = event.status,
            project = event.project.as_ref().map(ClientId::as_str),
            login = event.login.as_ref().map(LoginId::as_str),
            provenance = event.provenance.map(Provenance::as_str),
            same_look = event.same_traits.map(|same| same.look),
            same_network = event.same_traits.map(|same| same.network),
            rule = event.rule.map(Rule::id),
            rule_says = event.rule.map(Rule::sentence),
            happened = event.rule.map(Rule::happened),
            why = event.why,
            committed = event.committed(),
            steps = (!steps.is_empty()).then(|| steps.join(" ")),
            page = self.page_of(event),
        );
    }

    /// The page that shows an event with a rule.
    fn page_of(&self, event: &Event) -> Option<String> {
        let origin = self.pages_at.as_ref()?;
        event.rule?;
        Some(match &event.login {
            Some(login) => format!("{origin}/logins/{}", login.as_str()),
            None => format!("{origin}/others"),
        })
    }
}

/// The requests that are sent again and again, and say nothing about a login.
const POLLED: [&str; 3] = ["GET /api/providers", "GET /livez", "GET /readyz"];

/// Whether an event has a line. A flood of requests must not flood the log: `limits`
/// raises one alarm for all; and requests that are polled have none while they succeed.
fn is_logged(event: &Event) -> bool {
    let is_over_limit = event.status == Some(429) || event.rule == Some(Rule::BrokerOverload);
    let is_polled = event.rule.is_none() && POLLED.contains(&event.operation.as_str());
    event.to != Party::Broker || !is_over_limit && !is_polled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(to: Party, status: u16, rule: Option<Rule>) -> Event {
        Event {
            operation: "GET /api/providers".to_owned(),
            status: Some(status),
            rule,
            ..Event::between(Party::Consumer, to)
        }
    }

    #[test]
    fn a_call_that_a_provider_limits_is_logged_and_a_request_over_a_limit_is_not() {
        let google = Party::Provider(Provider::Google);
        assert!(is_logged(&event(google, 429, None)));
        assert!(!is_logged(&event(Party::Broker, 429, None)));
        let (overload, outage) = (Rule::BrokerOverload, Rule::StoreReachable);
        assert!(!is_logged(&event(Party::Broker, 503, Some(overload))));
        assert!(is_logged(&event(Party::Broker, 503, Some(outage))));
    }

    #[test]
    fn a_polled_request_is_logged_only_if_it_is_refused() {
        assert!(!is_logged(&event(Party::Broker, 200, None)));
        let prefetch = Some(Rule::RequestPrefetch);
        assert!(is_logged(&event(Party::Broker, 503, prefetch)));
    }
}
