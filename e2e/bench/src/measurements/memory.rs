//! The memory of a server, idle and after many logins.
//!
//! A login that was consumed leaves two rows for 20 minutes: its own without its profile,
//! by which a late browser is sent back, and that of its upstream login, which must not be
//! used again. The sweeper deletes them then.

use std::path::Path;
use std::time::Duration;

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::process::ServerProcess;
use crate::servers::providers;
use crate::setup::{Setup, Version};
use crate::stats::Rounds;

const CLIENTS: usize = 16;
const MOST_IDLE_MB: f64 = 10.0;
const MOST_GROWTH_MB: f64 = 2.0;

/// The memory of one server, in megabytes.
struct Memory {
    idle: Rounds,
    growth: Rounds,
}

/// Measures floor-hops, and each broker in memory and on a file.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(Duration::ZERO).await?;
    let floor = setup.start_floor(providers)?;
    setup.progress.at(0.0, "floor-hops");
    let floor = Memory::of(setup, &floor).await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let mut rows = Vec::new();
    for (number, name) in ["memory", "SQLite file"].into_iter().enumerate() {
        setup.progress.at((number as f64 + 1.0) / 3.0, name);
        let (mut before, mut present) = (None, None);
        for (version, program) in setup.versions() {
            let store = store(number, version, folder.path());
            let broker = setup.start_broker(program, &store, providers)?;
            let memory = Memory::of(setup, &broker.server).await?;
            match version {
                Version::Before => before = Some(memory),
                Version::Present => present = Some(memory),
            }
        }
        if let Some(present) = present {
            rows.extend(rows_of(setup, name, &floor, before.as_ref(), present));
        }
    }
    Ok(rows)
}

fn store(number: usize, version: Version, folder: &Path) -> Store {
    match number {
        0 => Store::Memory,
        _ => Store::File(folder.join(format!("{version:?}.db"))),
    }
}

impl Memory {
    async fn of(setup: &Setup, server: &ServerProcess) -> Result<Self, BenchError> {
        let idle = megabytes(server)?;
        let mut load = Load::connect(server.address, CLIENTS, Login::CLEAN_GITHUB).await?;
        load.run(setup.size.consumed).await?;
        Ok(Self {
            idle: Rounds::once(idle),
            growth: Rounds::once(megabytes(server)? - idle),
        })
    }
}

fn rows_of(
    setup: &Setup,
    name: &str,
    floor: &Memory,
    before: Option<&Memory>,
    present: Memory,
) -> [Row; 2] {
    let consumed = setup.size.consumed;
    [
        Row::new(
            format!("{name}: memory, idle"),
            Unit::Megabytes,
            present.idle,
        )
        .beside("floor-hops", floor.idle.clone())
        .before(before.map(|it| it.idle.clone()))
        .goal(Some(Goal::AtMost(MOST_IDLE_MB))),
        Row::new(
            format!("{name}: growth after {consumed} consumed logins"),
            Unit::Megabytes,
            present.growth,
        )
        .beside("floor-hops", floor.growth.clone())
        .before(before.map(|it| it.growth.clone()))
        .goal(Some(Goal::AtMost(MOST_GROWTH_MB)))
        .remark("each leaves two rows for 20 minutes, without the profile"),
    ]
}

fn megabytes(server: &ServerProcess) -> Result<f64, BenchError> {
    Ok(server.memory()? as f64 / 1e6)
}
