//! Each measurement, in the order in which they run.

mod distance;
mod growth;
mod logins;
mod overload;
mod startup;

use clap::ValueEnum;

use crate::BenchError;
use crate::load::login::Login;
use crate::load::{Load, P50, P99, WHOLE};
use crate::report::{Results, Row, ms};
use crate::servers::Measured;
use crate::setup::Setup;

/// A measurement, by the name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measurement {
    /// Whole logins: CPU time, and the time of a request
    Logins,
    /// Memory, idle and after many logins
    Memory,
    /// The time from exec to the first answer
    Startup,
    /// Live sessions, and a simulated month
    Growth,
    /// Logins with a PostgreSQL that is up to 20 ms away
    Distance,
    /// Up to three times the load that a broker can take, and its recovery
    Overload,
}

impl Measurement {
    /// Measures.
    pub(crate) async fn run(self, setup: &Setup) -> Result<Vec<Row>, BenchError> {
        match self {
            Self::Logins => logins::measure(setup).await,
            Self::Memory => logins::measure_memory(setup).await,
            Self::Startup => startup::measure(setup).await,
            Self::Growth => growth::measure(setup).await,
            Self::Distance => distance::measure(setup).await,
            Self::Overload => overload::measure(setup).await,
        }
    }
}

/// Measures every server with one load, round by round.
async fn measure_rounds(
    setup: &Setup,
    servers: &[Measured<'_>],
    (login, clients): (Login, usize),
    logins: usize,
) -> Result<Results, BenchError> {
    let mut loads = Vec::new();
    for measured in servers {
        let mut load = Load::connect(measured, clients).await?;
        load.run(login, logins / 4).await?;
        loads.push(load);
    }
    let mut results = Results::default();
    for _ in 0..setup.size.rounds {
        for (measured, load) in servers.iter().zip(&mut loads) {
            let before = measured.usage().await?;
            let times = load.run(login, logins).await?;
            let used = measured.used_since(before, &times).await?;
            let requests = [
                (P50, ms(times.request(0.5))),
                (P99, ms(times.request(0.99))),
                (WHOLE, ms(times.login(0.5))),
            ];
            for (figure, value) in used.chain(requests) {
                results.push(&measured.subject, figure, value);
            }
        }
    }
    Ok(results)
}
