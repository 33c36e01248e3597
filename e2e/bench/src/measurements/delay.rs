//! Logins with providers that take their time: how many of their answers a login waits
//! for in a row.

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::providers;
use crate::setup::{Setup, Version};
use crate::stats::{Rounds, ms};

/// The time that a provider takes for each answer.
const DELAY: Duration = Duration::from_millis(100);

/// The number of clients at once; the machine is idle most of the time.
const CLIENTS: usize = 16;

/// Two answers in a row from GitHub, with a tenth of one for all else.
const MOST_MS: f64 = 210.0;

/// A server under test, and the times of its logins.
struct Subject {
    version: Option<Version>,
    address: SocketAddr,
    times: Rounds,
}

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
        let mut subjects = vec![Subject::new(None, floor.address)];
        let brokers = brokers.iter();
        subjects.extend(brokers.map(|(it, broker)| Subject::new(Some(*it), broker.server.address)));
        measure_rounds(setup, &mut subjects, login).await?;
        let of = |version| {
            let found = subjects.iter().find(|it| it.version == version);
            found.map(|it| it.times.clone())
        };
        let what = format!("{login}, providers answer in 100 ms: a whole login");
        let present = of(Some(Version::Present)).unwrap_or_default();
        rows.push(
            Row::new(what, Unit::Milliseconds, present)
                .beside("floor-hops", of(None).unwrap_or_default())
                .before(of(Some(Version::Before)))
                .goal(goal),
        );
    }
    Ok(rows)
}

/// Adds the mean time of a login in each round.
async fn measure_rounds(
    setup: &Setup,
    subjects: &mut [Subject],
    login: Login,
) -> Result<(), BenchError> {
    let mut loads = Vec::new();
    for subject in subjects.iter() {
        let mut load = Load::connect(subject.address, CLIENTS, login).await?;
        // A first login opens the connections and fetches the keys.
        load.run(CLIENTS).await?;
        loads.push(load);
    }
    // Each takes a fifth of a second.
    let each = (setup.size.logins / 400).max(1);
    for _ in 0..setup.size.rounds {
        for (subject, load) in subjects.iter_mut().zip(&mut loads) {
            let whole = load.run(CLIENTS * each).await?.whole;
            subject.times.push(ms(whole) / each as f64);
        }
    }
    Ok(())
}

impl Subject {
    fn new(version: Option<Version>, address: SocketAddr) -> Self {
        Self {
            version,
            address,
            times: Rounds::default(),
        }
    }
}
