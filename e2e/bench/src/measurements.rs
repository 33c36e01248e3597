//! Each measurement, in the order in which they run.

mod growth;
mod logins;
mod overload;
mod startup;

use std::time::Duration;

use clap::ValueEnum;

use crate::BenchError;
use crate::report::Row;
use crate::setup::{Setup, Size};

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
    /// Up to three times the load that a broker can take, and its recovery
    Overload,
}

impl Measurement {
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |it| it.get_name().to_owned())
    }

    /// The time that it takes on two cores, in a release build.
    pub(crate) fn estimate(self, size: &Size) -> Duration {
        let seconds = match self {
            Self::Logins => 54.0 * size.rounds as f64 * size.logins as f64 / 1_600.0,
            Self::Memory => size.consumed as f64 / 700.0,
            Self::Startup => size.starts as f64 * 0.3,
            Self::Growth => growth::estimate(size),
            Self::Overload => overload::estimate(size),
        };
        Duration::from_secs_f64(seconds)
    }

    /// Measures.
    pub(crate) async fn run(self, setup: &Setup) -> Result<Vec<Row>, BenchError> {
        match self {
            Self::Logins => logins::measure(setup).await,
            Self::Memory => logins::measure_memory(setup).await,
            Self::Startup => startup::measure(setup).await,
            Self::Growth => growth::measure(setup).await,
            Self::Overload => overload::measure(setup).await,
        }
    }
}
