//! What an operator watches, counted and measured for Prometheus.
//!
//! It hears what the audit log hears. Every label is one of a set that the source
//! fixes: no login, no project, no address, nothing that somebody sent.

mod labels;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use contract::{Provider, Rule};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::audit::{Event, Party, Step};
use labels::{Call, Called, Committed, Login, Refusal, Request, StoreStep, Visit};

type Counted<L> = Family<L, Counter>;
type Measured<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counts and measures. Clones count the same things.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    logins: Counted<Login>,
    steps: Counted<Committed>,
    refusals: Counted<Refusal>,
    visits: Counted<Visit>,
    requests: Counted<Request>,
    calls: Counted<Call>,
    call_seconds: Measured<Called>,
    store_seconds: Measured<StoreStep>,
    store_failures: Counted<StoreStep>,
}

impl Metrics {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Arc::default(),
            logins: Family::default(),
            steps: Family::default(),
            refusals: Family::default(),
            visits: Family::default(),
            requests: Family::default(),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(seconds_of_a_call),
            store_seconds: Family::new_with_constructor(seconds_of_a_step),
            store_failures: Family::default(),
        };
        metrics.registry = Arc::new(metrics.registered());
        metrics
    }

    fn registered(&self) -> Registry {
        let mut all = Registry::with_prefix("broker");
        all.register(
            "logins",
            "Logins that ended, by provider and outcome: succeeded, or the rule that says why not",
            self.logins.clone(),
        );
        all.register("steps", "Steps that were committed", self.steps.clone());
        all.register(
            "refusals",
            "Requests that were refused, by rule",
            self.refusals.clone(),
        );
        all.register(
            "visits",
            "Browsers that came to sign in, by where their visit began",
            self.visits.clone(),
        );
        all.register(
            "requests",
            "Requests that were answered, by route and status",
            self.requests.clone(),
        );
        all.register(
            "upstream_calls",
            "Calls to providers, by what was asked for and the class of the answer's status, \
             or the rule that says why there was none",
            self.calls.clone(),
        );
        all.register_with_unit(
            "upstream_call",
            "How long calls to providers took",
            Unit::Seconds,
            self.call_seconds.clone(),
        );
        all.register_with_unit(
            "store_step",
            "How long the store's steps took, their commits included",
            Unit::Seconds,
            self.store_seconds.clone(),
        );
        all.register(
            "store_failures",
            "Steps that the store could not do",
            self.store_failures.clone(),
        );
        all
    }

    /// Everything so far, in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        let mut told = String::new();
        text::encode(&mut told, &self.registry).expect("a string takes every text");
        told
    }

    /// Hears of one operation.
    pub(crate) fn observe(&self, event: &Event) {
        match event.to {
            Party::Provider(provider) => self.hear_of_call(event, provider),
            Party::Broker | Party::Browser | Party::Consumer => self.hear_of_request(event),
        }
    }

    /// Hears how long a step of the store took, and whether it was done.
    pub(crate) fn observe_store_step<T, E>(
        &self,
        step: &'static str,
        took: Duration,
        done: &Result<T, E>,
    ) {
        let step = StoreStep { step };
        let seconds = self.store_seconds.get_or_create(&step);
        seconds.observe(took.as_secs_f64());
        if done.is_err() {
            self.store_failures.get_or_create(&step).inc();
        }
    }

    fn hear_of_request(&self, event: &Event) {
        let status = event.status.unwrap_or_default();
        let operation = event.operation.clone();
        let request = Request { operation, status };
        self.requests.get_or_create(&request).inc();
        for step in event.steps.iter().map(|step| step.name()) {
            self.steps.get_or_create(&Committed { step }).inc();
        }
        if let Some(provenance) = event.provenance {
            let provenance = provenance.as_str();
            self.visits.get_or_create(&Visit { provenance }).inc();
        }
        match (event.provider, event.rule) {
            (Some(provider), rule) if ends_a_login(event) => {
                let provider = provider.as_str();
                let outcome = rule.map_or("succeeded", Rule::id);
                let login = Login { provider, outcome };
                self.logins.get_or_create(&login).inc();
            }
            // A page that asks is an answer, not a refusal.
            (_, Some(rule)) if status >= 300 => {
                let rule = rule.id();
                self.refusals.get_or_create(&Refusal { rule }).inc();
            }
            _ => {}
        }
    }

    fn hear_of_call(&self, event: &Event, provider: Provider) {
        let (provider, operation) = (provider.as_str(), event.operation.clone());
        let called = Called {
            provider,
            operation: operation.clone(),
        };
        if let Some(took) = event.took {
            let seconds = self.call_seconds.get_or_create(&called);
            seconds.observe(took.as_secs_f64());
        }
        let outcome = match (event.status, event.rule) {
            (Some(status), _) => class_of(status),
            (None, Some(rule)) => rule.id(),
            (None, None) => "unknown",
        };
        let call = Call {
            provider,
            operation,
            outcome,
        };
        self.calls.get_or_create(&call).inc();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// A login ends with an outcome or a code; when its upstream login is spent for nothing; or
/// when its provider cannot even say where to go.
fn ends_a_login(event: &Event) -> bool {
    let ends = |step: &Step| {
        matches!(
            step,
            Step::Completed | Step::CodeIssued | Step::UpstreamLoginConsumed
        )
    };
    event.steps.iter().any(ends) || event.rule == Some(Rule::UpstreamUnavailable)
}

/// A provider may answer with any number.
fn class_of(status: u16) -> &'static str {
    match status {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "other",
    }
}

/// From 10 milliseconds to 20 seconds.
fn seconds_of_a_call() -> Histogram {
    Histogram::new([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0])
}

/// From a quarter of a millisecond to 5 seconds, the patience with a locked file.
fn seconds_of_a_step() -> Histogram {
    Histogram::new([
        0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0,
    ])
}
