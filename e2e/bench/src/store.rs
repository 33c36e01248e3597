//! The store without a server: the steps of a login, one by one, and users who come and
//! leave.

pub(crate) mod map;
pub(crate) mod steps;
pub(crate) mod users;

use std::sync::Arc;

use broker::store::fail_points::FailPoints;
use broker::store::{Store, open};

use crate::error::BenchError;

/// The store at `url`, ready.
pub(crate) async fn at(url: &str) -> Result<Arc<dyn Store>, BenchError> {
    let url = url.parse().map_err(|error| {
        BenchError::Server(format!("the store's address is no address: {error}"))
    })?;
    let store = open(&url, FailPoints::NONE)?;
    store.ready().await?;
    Ok(store)
}
