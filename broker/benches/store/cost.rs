//! What a step costs: the time that passes, and the processor's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::store::Store;
use tokio::task::JoinSet;

use crate::steps::{Login, Step};

/// Microseconds per step.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// The time that passed, divided by all steps of all clients: with one client
    /// what each waits for, with many what the store can keep up with.
    pub(crate) time_us: f64,
    /// This process's share of the processor; a server's is its own.
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

/// Takes one step of every login, by so many clients at once.
pub(crate) async fn measure(
    step: Step,
    store: &Arc<dyn Store>,
    logins: &Arc<Vec<Login>>,
    clients: usize,
) -> Cost {
    let (begun, cpu_before) = (now(), cpu());
    let mut working = JoinSet::new();
    for client in 0..clients {
        let (store, logins) = (store.clone(), logins.clone());
        working.spawn(async move {
            for login in logins.iter().skip(client).step_by(clients) {
                step.take(&*store, login).await;
            }
        });
    }
    working.join_all().await;
    let per_step = |time: Duration| time.as_secs_f64() * 1e6 / logins.len() as f64;
    Cost {
        time_us: per_step(now() - begun),
        cpu_us: per_step(cpu() - cpu_before),
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn now() -> Instant {
    Instant::now()
}

/// What the threads of this process have used. Linux counts each in nanoseconds,
/// and the process only in hundredths of a second.
fn cpu() -> Duration {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|thread| thread.unwrap().path().join("schedstat"))
        // A thread may end between the two.
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .map(Duration::from_nanos)
        .sum()
}
