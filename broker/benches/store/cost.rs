//! The cost of a step: elapsed time and CPU time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::store::Store;
use tokio::task::JoinSet;

use crate::steps::{Login, Step};

/// Microseconds per step.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// The elapsed time divided by the steps of all clients: the latency with one client,
    /// the throughput with many.
    pub(crate) time_us: f64,
    /// The CPU time of this process, without that of a database server.
    pub(crate) cpu_us: f64,
}

impl Cost {
    pub(crate) fn median(costs: &[Self]) -> Self {
        let median = |part: fn(&Self) -> f64| {
            let mut parts: Vec<_> = costs.iter().map(part).collect();
            parts.sort_by(f64::total_cmp);
            parts[parts.len() / 2]
        };
        Self {
            time_us: median(|cost| cost.time_us),
            cpu_us: median(|cost| cost.cpu_us),
        }
    }
}

/// Runs one step of every login, with `clients` tasks at once.
pub(crate) async fn measure(
    step: Step,
    store: &Arc<dyn Store>,
    logins: &Arc<Vec<Login>>,
    clients: usize,
) -> Cost {
    let (start, cpu_before) = (now(), cpu());
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let (store, logins) = (store.clone(), logins.clone());
        tasks.spawn(async move {
            for login in logins.iter().skip(client).step_by(clients) {
                step.run(&*store, login).await;
            }
        });
    }
    tasks.join_all().await;
    let per_step = |time: Duration| time.as_secs_f64() * 1e6 / logins.len() as f64;
    Cost {
        time_us: per_step(now() - start),
        cpu_us: per_step(cpu() - cpu_before),
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn now() -> Instant {
    Instant::now()
}

/// The CPU time of this process's threads. Linux counts each in nanoseconds, and the
/// process only in hundredths of a second.
fn cpu() -> Duration {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|thread| thread.unwrap().path().join("schedstat"))
        // A thread may have ended since it was listed.
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .map(Duration::from_nanos)
        .sum()
}
