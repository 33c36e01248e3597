//! The memory of a server, idle and after many logins.
//!
//! A login that was consumed leaves two rows for 20 minutes: its own without its profile,
//! by which a late browser is sent back, and that of its upstream login, which must not be
//! used again. The sweeper deletes them then.

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Compared, Figures, Goal, Row, Unit};
use crate::servers::broker::Store;
use crate::servers::{ServerProcess, providers};
use crate::setup::{Setup, Version};

const CLIENTS: usize = 16;
const MAX_IDLE_MB: f64 = 10.0;
const MAX_GROWTH_MB: f64 = 2.0;

const IDLE: &str = "memory, idle";

/// Measures floor-hops, and each broker in memory and on a file.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let growth = format!("growth after {} consumed logins", setup.size.consumed);
    let providers = providers::start().await?;
    setup.progress.at(0.0, "floor-hops");
    let floor = measure_server(setup, &setup.start_floor(providers)?, &growth).await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let mut rows = Vec::new();
    let stores = |version| {
        let file = folder.path().join(format!("{version:?}.db"));
        [Store::Memory, Store::File(file)]
    };
    for number in 0..2 {
        let (mut before, mut broker, mut name) = (None, Figures::default(), "");
        for (version, program) in setup.versions() {
            let store = &stores(version)[number];
            name = store.name();
            setup.progress.at((number as f64 + 1.0) / 3.0, name);
            let server = setup.start_broker(program, store, providers)?;
            let figures = measure_server(setup, &server, &growth).await?;
            match version {
                Version::Before => before = Some(figures),
                Version::Present => broker = figures,
            }
        }
        let compared = Compared {
            what: name,
            broker: &broker,
            beside: ("floor-hops", &floor),
            before: before.as_ref(),
        };
        let remark = "each leaves two rows for 20 minutes, without the profile";
        rows.extend([
            compared.row(IDLE).goal(Goal::AtMost(MAX_IDLE_MB)),
            compared
                .row(&growth)
                .goal(Goal::AtMost(MAX_GROWTH_MB))
                .remark(remark),
        ]);
    }
    Ok(rows)
}

async fn measure_server(
    setup: &Setup,
    server: &ServerProcess,
    growth: &str,
) -> Result<Figures, BenchError> {
    let megabytes = || Ok::<_, BenchError>(server.memory()? as f64 / 1e6);
    let idle = megabytes()?;
    let mut load = Load::connect(server.address, CLIENTS, Login::CleanGitHub).await?;
    load.run(setup.size.consumed).await?;
    let mut figures = Figures::default();
    figures.push(IDLE, Unit::Megabytes, idle);
    figures.push(growth, Unit::Megabytes, megabytes()? - idle);
    Ok(figures)
}
