//! What happened and why: one event per operation and per call to a provider,
//! each refusal with its rule.
//!
//! An event holds fingerprints, never a secret, a URI or a body. It goes to the
//! log, and to whoever subscribes. Both see the same events in the same order.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use contract::{ClientId, Provider, Rule};

use crate::model::{LoginId, UnixMs};
use crate::relay::Provenance;

/// One operation, as it ended.
#[derive(Debug, Clone)]
pub struct Event {
    /// When it ended.
    pub at: UnixMs,
    /// The `X-Request-Id` of the answer that it led to.
    pub request_id: String,
    /// Who called.
    pub from: Party,
    /// Who was called.
    pub to: Party,
    /// Method and route, `POST /v1/token`, or what a provider was asked for, `POST
    /// token`; never the path as it was sent.
    pub operation: String,
    /// The HTTP status of the answer; none if a provider gave no answer.
    pub status: Option<u16>,
    /// Whose login it was about.
    pub project: Option<ClientId>,
    /// Where the person of that login signs in.
    pub provider: Option<Provider>,
    /// Which login it was about.
    pub login: Option<LoginId>,
    /// Where the browser's visit began that it answers.
    pub provenance: Option<Provenance>,
    /// The rule that refused it or had it asked about, or by which the login failed.
    pub rule: Option<Rule>,
    /// More about that, in fixed words.
    pub why: Option<&'static str>,
    /// How long a provider took, if one was called.
    pub took: Option<Duration>,
    /// The steps of it that were committed to the store, in their order.
    pub steps: Vec<Step>,
}

impl Event {
    /// Whether anything of it was committed to the store.
    pub fn committed(&self) -> bool {
        !self.steps.is_empty()
    }
}

/// Who takes part in a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// The person's browser.
    Browser,
    /// The consumer's backend.
    Consumer,
    /// Ourselves.
    Broker,
    /// Where the person signs in.
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

/// Declares the steps, each with its name and meaning, once.
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

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$step => $meaning,)+ }
            }
        }
    };
}

steps! {
    Opened = "opened", "A login is pending.";
    Bound = "bound", "It belongs to the browser that came.";
    UpstreamLoginConsumed = "upstream_login_consumed", "The upstream login cannot be used again.";
    Completed = "completed", "The login has an outcome.";
    ResultConsumed = "result_consumed", "The outcome was read, and cannot be read again.";
    CodeIssued = "code_issued", "A handoff code waits for its redemption.";
    CodeRedeemed = "code_redeemed", "The code became an access token.";
    TokenRevoked = "token_revoked", "The access token is no longer good.";
}

/// Somebody who hears of every event.
pub type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;

/// Writes events to the log, and hands them to its subscribers.
#[derive(Clone, Default)]
pub struct AuditLog(Vec<Subscriber>);

impl AuditLog {
    /// A audit log that only logs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same audit log with one more subscriber, which must not block.
    #[must_use]
    pub fn subscribed(mut self, subscriber: Subscriber) -> Self {
        self.0.push(subscriber);
        self
    }

    /// Records one event.
    pub fn record(&self, event: &Event) {
        log(event);
        for subscriber in &self.0 {
            subscriber(event);
        }
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditLog({} subscribers)", self.0.len())
    }
}

fn log(event: &Event) {
    // Whoever floods us must not flood the log; an alarm in `limits` speaks for all.
    if event.status == Some(429) {
        return;
    }
    let steps: Vec<_> = event.steps.iter().map(|step| step.name()).collect();
    tracing::info!(
        target: "audit",
        request_id = event.request_id,
        from = event.from.name(),
        to = event.to.name(),
        operation = event.operation,
        status = event.status,
        project = event.project.as_ref().map(ClientId::as_str),
        login = event.login.as_ref().map(LoginId::as_str),
        provenance = event.provenance.map(Provenance::as_str),
        rule = event.rule.map(Rule::id),
        rule_says = event.rule.map(Rule::sentence),
        why = event.why,
        committed = event.committed(),
        steps = (!steps.is_empty()).then(|| steps.join(" ")),
    );
}
