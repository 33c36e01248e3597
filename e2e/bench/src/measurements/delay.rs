//! Logins with providers that take their time: how many of their answers a login waits
//! for in a row.

use std::time::Duration;

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::process::ServerProcess;
use crate::servers::providers;
use crate::setup::{Setup, Version};
use crate::stats::{Rounds, ms};

/// The time that a provider takes for each answer.
const DELAY: Duration = Duration::from_millis(100);

/// The number of clients at once; the machine is idle most of the time.
const CLIENTS: usize = 16;

/// Two answers in a row from GitHub, with a tenth of one for all else.
const MOST_MS: f64 = 210.0;

/// Measures a login's time from its first request to its last answer.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(DELAY).await?;
    let floor = setup.start_floor(providers)?;
    let mut brokers = Vec::new();
    for (version, program) in setup.versions() {
        let broker = setup.start_broker(program, &Store::Memory, providers)?;
        brokers.push((version, broker));
    }
    let mut rows = Vec::new();
    for (login, goal) in [
        (Login::CLEAN_GITHUB, Some(Goal::AtMost(MOST_MS))),
        (Login::CLEAN_GOOGLE, None),
    ] {
        setup
            .progress
            .at(rows.len() as f64 / 2.0, &login.to_string());
        let floor = times(setup, &floor, login).await?;
        let mut before = None;
        let mut present = Rounds::default();
        for (version, broker) in &brokers {
            let times = times(setup, &broker.server, login).await?;
            match version {
                Version::Before => before = Some(times),
                Version::Present => present = times,
            }
        }
        let what = format!("{login}, providers answer in 100 ms: a whole login");
        rows.push(
            Row::new(what, Unit::Milliseconds, present)
                .beside("floor-hops", floor)
                .before(before)
                .goal(goal),
        );
    }
    Ok(rows)
}

/// The mean time of a login in each round.
async fn times(setup: &Setup, server: &ServerProcess, login: Login) -> Result<Rounds, BenchError> {
    let mut load = Load::connect(server.address, CLIENTS, login).await?;
    // A first login opens the connections and fetches the keys.
    load.run(CLIENTS).await?;
    let mut times = Rounds::default();
    for _ in 0..setup.size.rounds {
        // Each takes a fifth of a second.
        let each = (setup.size.logins / 400).max(1);
        let whole = load.run(CLIENTS * each).await?.whole;
        times.push(ms(whole) / each as f64);
    }
    Ok(times)
}
