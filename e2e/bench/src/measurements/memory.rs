//! The memory of a server, idle and after many logins.
//!
//! A login that was consumed leaves two rows for 20 minutes: its own without its profile,
//! by which a late browser is sent back, and that of its upstream login, which must not be
//! used again. The sweeper deletes them then.

use super::subjects::{self, Subject};
use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::{Goal, Row, Unit};
use crate::servers::providers;
use crate::setup::Setup;

const CLIENTS: usize = 16;
const MAX_IDLE_MB: f64 = 10.0;
const MAX_GROWTH_MB: f64 = 2.0;

const IDLE: &str = "memory, idle";

/// Measures floor-hops, and each broker in memory and on a file.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let growth = format!("growth after {} consumed logins", setup.size.consumed);
    let providers = providers::start().await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let mut subjects = subjects::start(setup, providers, folder.path(), None)?;
    let all = subjects.len() as f64;
    for (number, subject) in subjects.iter_mut().enumerate() {
        setup.progress.at(number as f64 / all, "consumed logins");
        let Subject {
            server, figures, ..
        } = subject;
        let megabytes = || Ok::<_, BenchError>(server.memory()? as f64 / 1e6);
        let idle = megabytes()?;
        let mut load = Load::connect(server.address, CLIENTS, Login::CleanGitHub).await?;
        load.run(setup.size.consumed).await?;
        figures.push(IDLE, Unit::MEGABYTES, idle);
        figures.push(&growth, Unit::MEGABYTES, megabytes()? - idle);
    }
    let rows = subjects::compared(&subjects).flat_map(|(_, compared)| {
        let idle = compared.row(IDLE).goal(Goal::AtMost(MAX_IDLE_MB));
        let growth = compared.row(&growth).goal(Goal::AtMost(MAX_GROWTH_MB));
        let remark = "each leaves two rows for 20 minutes, without the profile";
        [idle, growth.remark(remark)]
    });
    Ok(rows.collect())
}
