//! Each measurement, in the order in which they run.

mod brokers;
mod delay;
mod growth;
mod logins;
mod memory;
mod overload;
mod stack;
mod startup;
mod store;
mod vacuum;

use std::time::Duration;

use clap::ValueEnum;

use crate::error::BenchError;
use crate::report::Row;
use crate::setup::Setup;
use crate::size::Size;

/// A measurement, by the name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measurement {
    /// Whole logins: CPU time, and the time of a request
    Logins,
    /// Logins with providers that answer in 100 ms
    Delay,
    /// Whole logins at the stack, one process with its proxy and imitated providers
    Stack,
    /// Memory, idle and after many logins
    Memory,
    /// The time from exec to the first answer
    Startup,
    /// Live sessions, users who come and leave, a simulated month
    Growth,
    /// One, two and four brokers on one PostgreSQL
    Brokers,
    /// PostgreSQL's tables under load, with several settings of its vacuum
    Vacuum,
    /// Up to three times the load that a broker can take, and its recovery
    Overload,
    /// Each step of the store, without a server
    Store,
}

impl Measurement {
    /// All of them.
    pub(crate) const ALL: [Self; 10] = [
        Self::Logins,
        Self::Delay,
        Self::Stack,
        Self::Memory,
        Self::Startup,
        Self::Growth,
        Self::Brokers,
        Self::Vacuum,
        Self::Overload,
        Self::Store,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Logins => "logins",
            Self::Delay => "delay",
            Self::Stack => "stack",
            Self::Memory => "memory",
            Self::Startup => "startup",
            Self::Growth => "growth",
            Self::Brokers => "brokers",
            Self::Vacuum => "vacuum",
            Self::Overload => "overload",
            Self::Store => "store",
        }
    }

    /// Whether the program `stack` is measured.
    pub(crate) fn needs_stack(self) -> bool {
        matches!(self, Self::Stack | Self::Startup)
    }

    /// Whether there is nothing to measure without PostgreSQL.
    pub(crate) fn needs_postgres(self) -> bool {
        matches!(self, Self::Brokers | Self::Vacuum)
    }

    /// The time that it takes on two cores, in a release build.
    pub(crate) fn estimate(self, size: &Size) -> Duration {
        let rounds = size.rounds as f64;
        let load = rounds * size.logins as f64 / 1_600.0;
        let seconds = match self {
            Self::Logins => 54.0 * load,
            Self::Delay => 8.0 * load,
            Self::Stack => 18.0 * load,
            Self::Memory => size.consumed as f64 / 700.0,
            Self::Startup => size.starts as f64 * 0.3,
            Self::Growth => growth::estimate(size),
            Self::Brokers => 15.0 + 10.0 * load,
            Self::Vacuum => vacuum::estimate(size),
            Self::Overload => overload::estimate(size),
            Self::Store => 4.0 * load,
        };
        Duration::from_secs_f64(seconds)
    }

    /// Measures.
    pub(crate) async fn run(self, setup: &Setup) -> Result<Vec<Row>, BenchError> {
        match self {
            Self::Logins => logins::measure(setup).await,
            Self::Delay => delay::measure(setup).await,
            Self::Stack => stack::measure(setup).await,
            Self::Memory => memory::measure(setup).await,
            Self::Startup => startup::measure(setup).await,
            Self::Growth => growth::measure(setup).await,
            Self::Brokers => brokers::measure(setup).await,
            Self::Vacuum => vacuum::measure(setup).await,
            Self::Overload => overload::measure(setup).await,
            Self::Store => store::measure(setup).await,
        }
    }
}
