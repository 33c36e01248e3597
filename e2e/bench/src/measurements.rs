//! Each measurement, in the order in which they run.

mod commits;
mod distance;
mod growth;
mod logins;
mod overload;
mod peers;
mod startup;
mod tail;

use clap::ValueEnum;

use crate::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Results, Row};
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
    /// Doubles and servers that people take instead of the broker, in a table of its own
    Peers,
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
            Self::Peers => peers::measure(setup).await,
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
        let mut load = Load::at(measured.server.address, clients).await?;
        load.stays_awake = measured.database.is_none();
        load.run(login, logins / 4).await?;
        loads.push(load);
    }
    let mut results = Results::default();
    for _ in 0..setup.size.rounds {
        for (measured, load) in servers.iter().zip(&mut loads) {
            let before = measured.usage().await?;
            let times = load.run(login, logins).await?;
            let used = before.into_iter().zip(measured.usage().await?);
            for ((figure, before), (_, after)) in used {
                let each = (after - before) / times.logins as f64;
                results.push(&measured.subject, figure, each);
            }
            for (figure, value) in times.figures() {
                results.push(&measured.subject, figure, value);
            }
        }
    }
    Ok(results)
}
