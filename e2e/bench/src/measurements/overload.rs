//! Overload: offered against completed logins, up to three times what the broker can
//! serve, and the time until it has recovered.

mod arrivals;
mod table;

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::BenchError;
use crate::load::Load;
use crate::load::login::Login;
use crate::report::Row;
use crate::servers::broker::Store;
use crate::servers::providers;
use crate::setup::Setup;
use crate::size::Size;
use arrivals::{OfferedLoad, Users};

/// The loads, in multiples of the broker's capacity.
const LOADS: [f64; 7] = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0];

/// The load that follows the greatest at once.
const RECOVERY: f64 = 0.5;

/// The factor between two loads of which one is the broker's capacity.
const MORE: f64 = 1.1;

/// The clients who keep a broker busy at first.
const CLIENTS: usize = 16;

const LOGIN: Login = Login::CLEAN_GITHUB;

/// The seconds that it takes.
pub(super) fn estimate(size: &Size) -> f64 {
    // The capacity, and what waits at the end of each load.
    let each = (LOADS.len() + 2) as f64 * size.overload_seconds as f64 * 1.5;
    2.0 * (20.0 + each)
}

/// Measures a broker in memory and one on a file: a row for each load.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let providers = providers::start(Duration::ZERO).await?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let stores = [Store::Memory, Store::File(folder.path().join("broker.db"))];
    let mut rows = Vec::new();
    let seconds = setup.size.overload_seconds;
    for (number, store) in stores.into_iter().enumerate() {
        let broker = setup.start_broker(&setup.programs.broker, &store, providers)?;
        let mut users = Users::connect(broker.server.address, LOGIN).await?;
        setup.progress.at(number as f64 / 2.0, store.name());
        let capacity = capacity(&mut users, broker.server.address, seconds).await?;
        let mut loads = loads(&mut users, capacity, seconds).await;
        rows.extend(table::rows(store.name(), capacity, &loads));
        loads.iter_mut().try_for_each(OfferedLoad::first_failure)?;
    }
    Ok(rows)
}

/// The greatest number of logins a second of which nearly all are as quick as usual.
///
/// It begins with what clients reach who each wait for their answers, and therefore never
/// overload a broker.
async fn capacity(users: &mut Users, address: SocketAddr, seconds: u32) -> Result<f64, BenchError> {
    let mut load = Load::connect(address, CLIENTS, LOGIN).await?;
    load.run(8 * CLIENTS).await?;
    let whole = load.run(8 * CLIENTS).await?.whole;
    let mut capacity = (8 * CLIENTS) as f64 / whole.as_secs_f64();
    while users.are_served_quickly(capacity * MORE, seconds).await? {
        capacity *= MORE;
    }
    while !users.are_served_quickly(capacity, seconds).await? {
        capacity /= MORE;
    }
    Ok(capacity)
}

/// Measures the loads one after the other, and the recovery from the greatest.
async fn loads(users: &mut Users, capacity: f64, seconds: u32) -> Vec<OfferedLoad> {
    let mut loads = Vec::new();
    for load in LOADS {
        // The queue of an earlier load must not be part of this one.
        users.wait_for_all(&mut loads).await;
        loads.push(users.arrive(loads.len(), load, capacity, seconds).await);
    }
    let recovery = users.arrive(loads.len(), RECOVERY, capacity, 2 * seconds);
    loads.push(recovery.await);
    users.wait_for_all(&mut loads).await;
    loads
}
