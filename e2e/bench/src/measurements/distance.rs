//! A PostgreSQL in another building: logins over a network with a delay, beside the same
//! network without any. The delay is that of a round trip.

use std::time::Duration;

use super::measure_rounds;
use crate::BenchError;
use crate::load::WHOLE;
use crate::load::login::Login;
use crate::report::{Figure, Goal, NUMBER, Row, Version};
use crate::servers::broker::{DATABASE_CPU, Database, MAX_STATEMENTS, STATEMENTS};
use crate::setup::{Setup, announce};

const DELAYS_MS: [u32; 5] = [0, 1, 5, 10, 20];

/// The numbers of clients at once, and the share of the usual logins that they make: one of
/// one client may take 200 ms.
const CLIENTS: [(usize, usize); 2] = [(1, 64), (16, 8)];

/// The time that a delay adds to a login, as a multiple of the delay.
const DELAYS: Figure = Figure("delays in a login", NUMBER);

/// Measures with each number of clients and each delay.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    if setup.args.no_postgres {
        return Ok(Vec::new());
    }
    let database = Database::start(setup).await?;
    let mut servers = Vec::new();
    for ms in DELAYS_MS {
        let store = database.store_at(Duration::from_millis(ms.into()) / 2)?;
        for version in setup.versions() {
            servers.push(setup.start_measured(&name(ms), version, &store, Some(&database))?);
        }
    }
    let near = name(0);
    let mut rows = Vec::new();
    for (clients, share) in CLIENTS {
        let load = format!("{}, {clients} at once, ", Login::CleanGitHub);
        announce(&format!("{load}PostgreSQL at a distance"));
        let logins = setup.size.logins / share;
        let login = (Login::CleanGitHub, clients);
        let mut results = measure_rounds(setup, &servers, login, logins).await?;
        for (figure, most) in [(STATEMENTS, MAX_STATEMENTS), (DATABASE_CPU, 500.0)] {
            rows.push(results.row(&load, &near, figure, "").goal(Goal::Most(most)));
        }
        for ms in &DELAYS_MS[1..] {
            let far = name(*ms);
            let took = |name| results.median(name, Version::Present, WHOLE);
            let (slow, quick) = (took(&far), took(&near));
            results.add(&far, DELAYS, (slow - quick) / f64::from(*ms));
            let row = results.row(&load, &far, DELAYS, "").goal(Goal::Most(6.0));
            rows.push(row.remark(format!("a login: {slow:.1} ms, at 0 ms {quick:.1} ms")));
        }
    }
    Ok(rows)
}

fn name(ms: u32) -> String {
    format!("PostgreSQL at {ms} ms")
}
