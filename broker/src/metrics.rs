//! The broker's metrics for Prometheus.
//!
//! They are made from the events of the audit log. Every label value is one of a fixed
//! set: never a login, a project, an address, or a value that a client sent.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use contract::{Provider, Rule};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::audit::{Event, Party, Step};

/// A name and a value, which is never one that a client sent.
type Label = (&'static str, Cow<'static, str>);
type Counted = Family<Vec<Label>, Counter>;
type Measured = Family<Vec<Label>, Histogram, fn() -> Histogram>;

/// All metrics. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    logins: Counted,
    steps: Counted,
    refusals: Counted,
    visits: Counted,
    requests: Counted,
    calls: Counted,
    call_seconds: Measured,
    store_seconds: Measured,
    store_failures: Counted,
    delay_seconds: Gauge<f64, AtomicU64>,
}

impl Metrics {
    /// Metrics that are all zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("broker");
        let all = &mut registry;
        Self {
            logins: counted(
                all,
                "logins",
                "Logins that ended, by provider and outcome: succeeded, or the rule that explains \
                 the failure",
            ),
            steps: counted(all, "steps", "Steps that were committed"),
            refusals: counted(all, "refusals", "Requests that were refused, by rule"),
            visits: counted(
                all,
                "visits",
                "Browsers that came to sign in, by the provenance of their visit",
            ),
            requests: counted(
                all,
                "requests",
                "Requests that were answered, by route and status",
            ),
            calls: counted(
                all,
                "upstream_calls",
                "Calls to providers, by operation and the class of the answer's status, or the \
                 rule that explains why there was none",
            ),
            call_seconds: measured(
                all,
                "upstream_call",
                "Durations of calls to providers",
                Measured::new_with_constructor(|| Histogram::new(CALL_SECONDS)),
            ),
            store_seconds: measured(
                all,
                "store_step",
                "Durations of the store's steps, including their commits",
                Measured::new_with_constructor(|| Histogram::new(STORE_SECONDS)),
            ),
            store_failures: counted(all, "store_failures", "Steps that the store could not do"),
            delay_seconds: measured(
                all,
                "delay",
                "The delay of the store's steps, or of a task that waits for the processor if \
                 that is longer",
                Gauge::default(),
            ),
            registry: Arc::new(registry),
        }
    }

    /// All metrics in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        let mut text = String::new();
        text::encode(&mut text, &self.registry).expect("writing to a string never fails");
        text
    }

    /// Counts one operation.
    pub(crate) fn observe(&self, event: &Event) {
        match event.to {
            Party::Provider(provider) => self.observe_call(event, provider),
            Party::Broker | Party::Browser | Party::Consumer => self.observe_request(event),
        }
    }

    /// Counts and measures one step of the store.
    pub(crate) fn observe_store_step<T, E>(
        &self,
        step: &'static str,
        took: Duration,
        result: &Result<T, E>,
    ) {
        let step = vec![("step", step.into())];
        let seconds = self.store_seconds.get_or_create(&step);
        seconds.observe(took.as_secs_f64());
        if result.is_err() {
            self.store_failures.get_or_create(&step).inc();
        }
    }

    /// Keeps the delay of the broker's own work.
    pub(crate) fn observe_delay(&self, delay: Duration) {
        self.delay_seconds.set(delay.as_secs_f64());
    }

    fn observe_request(&self, event: &Event) {
        let status = event.status.unwrap_or_default();
        count(
            &self.requests,
            [
                ("operation", event.operation.clone().into()),
                ("status", status.to_string().into()),
            ],
        );
        for step in &event.steps {
            count(&self.steps, [("step", step.name().into())]);
        }
        if let Some(provenance) = event.provenance {
            count(&self.visits, [("provenance", provenance.as_str().into())]);
        }
        match (event.provider, event.rule) {
            (Some(provider), rule) if ends_a_login(event) => {
                let outcome = rule.map_or("succeeded", Rule::id).into();
                let provider = ("provider", provider.as_str().into());
                count(&self.logins, [provider, ("outcome", outcome)]);
            }
            // The confirmation page has a rule and is no refusal.
            (_, Some(rule)) if status >= 300 => {
                count(&self.refusals, [("rule", rule.id().into())]);
            }
            _ => {}
        }
    }

    fn observe_call(&self, event: &Event, provider: Provider) {
        let mut labels = vec![
            ("provider", provider.as_str().into()),
            ("operation", event.operation.clone().into()),
        ];
        if let Some(took) = event.took {
            let seconds = self.call_seconds.get_or_create(&labels);
            seconds.observe(took.as_secs_f64());
        }
        let outcome = match (event.status, event.rule) {
            (Some(status), _) => class_of(status),
            (None, Some(rule)) => rule.id(),
            (None, None) => "unknown",
        };
        labels.push(("outcome", outcome.into()));
        self.calls.get_or_create(&labels).inc();
    }
}

/// Registers a counter for each set of labels.
fn counted(all: &mut Registry, name: &str, help: &str) -> Counted {
    let counted = Counted::default();
    all.register(name, help, counted.clone());
    counted
}

/// Registers a metric in seconds.
fn measured<M: Metric + Clone>(all: &mut Registry, name: &str, help: &str, metric: M) -> M {
    all.register_with_unit(name, help, Unit::Seconds, metric.clone());
    metric
}

fn count<const N: usize>(counted: &Counted, labels: [Label; N]) {
    counted.get_or_create(&labels.into()).inc();
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// A login ends with an outcome or a code; when its upstream login is consumed without
/// either; or when the provider's authorization URL is unavailable.
fn ends_a_login(event: &Event) -> bool {
    let ends = |step: &Step| {
        matches!(
            step,
            Step::Completed | Step::CodeIssued | Step::UpstreamLoginConsumed
        )
    };
    event.steps.iter().any(ends) || event.rule == Some(Rule::UpstreamUnavailable)
}

/// The class of a status. A provider may answer with any number.
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

/// From a millisecond, which only a provider on the same machine keeps, to 20 seconds.
const CALL_SECONDS: [f64; 14] = [
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0,
];

/// From a tenth of a millisecond to 5 seconds, the time limit of waiting for a locked file.
const STORE_SECONDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.007_5, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0,
    5.0,
];
