//! The parts of the tail: the time of each request of a login, and, by the broker's own
//! metrics, what it waits for meanwhile. Its broker is another one, because metrics cost
//! processor time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::measure_rounds;
use crate::BenchError;
use crate::load::connection::Connection;
use crate::load::login::Login;
use crate::load::{CPU, REQUESTS, WHOLE};
use crate::report::{Row, Version};
use crate::servers::broker::{FILE, Store};
use crate::servers::{Measured, free_address};
use crate::setup::{FLOOR, Setup};

/// The call that is made at the same time as another one.
const SECOND_CALL: &str = "GET user emails";

/// Measures this load on a file: a row for each request, and one for a whole login.
pub(super) async fn measure(
    setup: &Setup,
    (login, clients): (Login, usize),
) -> Result<Vec<Row>, BenchError> {
    let operator = free_address()?;
    let mut start = setup.configure(&Store::File)?.start(&setup.broker);
    start.0.env("BROKER_OPERATOR__BIND", operator.to_string());
    let broker = Measured::present(FILE, setup.start(start)?.0);
    let servers = [setup.start_floor()?, broker];
    let logins = setup.size.logins;
    let results = measure_rounds(setup, &servers, (login, clients), logins).await?;
    let mut waits = scrape(operator).await?;
    // A sweep belongs to no login.
    let served = waits.values().map(Histogram::count).fold(1.0, f64::max);
    waits.retain(|_, it| it.count() * 2.0 > served);
    let load = format!("{login}, {clients} at once, with metrics, ");
    let row = |figure| results.row(&load, FILE, figure, FLOOR);
    let (calls, steps): (Vec<_>, Vec<_>) = waits.iter().partition(|(name, _)| name.contains(' '));
    let sum = |of: &[(&String, &Histogram)]| {
        let in_turn = of.iter().filter(|(name, _)| *name != SECOND_CALL);
        in_turn.map(|(_, it)| it.sum).sum::<f64>() / served * 1e3
    };
    let median = |figure| results.median(FILE, Version::Present, figure);
    let (store, provider, cpu) = (sum(&steps), sum(&calls), median(CPU) / 1e3);
    let shown = steps.iter().chain(&calls).map(|(name, it)| it.show(name));
    let whole = row(WHOLE).remark(format!(
        "store {store:.1} ms, provider {provider:.1} ms, processor {cpu:.1} ms, its queue \
         {:.1} ms; p50/p99 in ms: {}",
        (median(WHOLE) - store - provider - cpu).max(0.0),
        shown.collect::<Vec<_>>().join(", "),
    ));
    Ok(REQUESTS.into_iter().map(row).chain([whole]).collect())
}

/// The durations of one step of the store, or one call to a provider.
#[derive(Debug, Default)]
struct Histogram {
    /// The upper bounds in seconds, and the number of durations up to each; the last is
    /// infinite.
    buckets: Vec<(f64, f64)>,
    sum: f64,
}

/// The broker's histograms, by the names of steps and calls.
async fn scrape(operator: SocketAddr) -> Result<BTreeMap<String, Histogram>, BenchError> {
    let mut client = Connection::open(operator).await?;
    let answer = client.send(("GET", "/metrics"), &[], String::new()).await?;
    Ok(histograms(&answer.body))
}

fn histograms(metrics: &str) -> BTreeMap<String, Histogram> {
    let mut all = BTreeMap::<String, Histogram>::new();
    for line in metrics.lines().filter(|line| line.contains("_seconds_")) {
        let (name, value) = line.rsplit_once(' ').unwrap_or_default();
        let of = label(name, "step").or_else(|| label(name, "operation"));
        let (Some(of), Ok(value)) = (of, value.parse()) else {
            continue;
        };
        let it = all.entry(of.to_owned()).or_default();
        match label(name, "le") {
            Some(bound) => it
                .buckets
                .push((bound.parse().unwrap_or(f64::INFINITY), value)),
            None if name.contains("_sum{") => it.sum = value,
            None => {}
        }
    }
    all
}

/// The value of a label.
fn label<'a>(metric: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = metric.split_once(&format!("{name}=\""))?;
    value.split('"').next()
}

impl Histogram {
    fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, n)| *n)
    }

    /// The milliseconds that this share does not exceed, if the durations of a bucket are
    /// spread evenly; at most the greatest finite bound.
    fn percentile_ms(&self, share: f64) -> f64 {
        let (rank, mut below) = (share * self.count(), (0.0, 0.0));
        for &(bound, n) in self.buckets.iter().filter(|(bound, _)| bound.is_finite()) {
            if n >= rank {
                let part = (rank - below.1) / (n - below.1);
                return (below.0 + (bound - below.0) * part) * 1e3;
            }
            below = (bound, n);
        }
        below.0 * 1e3
    }

    fn show(&self, name: &str) -> String {
        let [p50, p99] = [0.5, 0.99].map(|share| self.percentile_ms(share));
        format!("{name} {p50:.1}/{p99:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_interpolated_within_a_bucket() {
        let found = histograms(
            "s_seconds_bucket{le=\"0.001\",step=\"a\"} 50\n\
             s_seconds_bucket{le=\"0.003\",step=\"a\"} 100\n\
             s_seconds_bucket{le=\"+Inf\",step=\"a\"} 100\n\
             steps_total{step=\"b\"} 3\n",
        );
        assert_eq!(found.len(), 1);
        let percentiles = [0.5, 0.75, 1.0].map(|share| found["a"].percentile_ms(share));
        assert_eq!(percentiles, [1.0, 2.0, 3.0]);
    }
}
