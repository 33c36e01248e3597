//! The task that deletes expired rows, from liftoff to shutdown.

use std::sync::Arc;
use std::time::Duration;

use rocket::fairing::AdHoc;

use super::Broker;
use crate::clock::Clock;
use crate::store::{Store, StoreError};

/// The fairing that starts the sweeper of the managed [`Broker`].
pub(crate) fn sweeper() -> AdHoc {
    AdHoc::on_liftoff("sweeper", |rocket| {
        Box::pin(async move {
            let broker = rocket.state::<Broker>().expect("the broker is managed");
            let (store, clock) = (broker.core.store.clone(), broker.core.clock.clone());
            let every = broker.sweep_every;
            tokio::spawn(sweep(store, clock, every, rocket.shutdown()));
        })
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "when rows are swept decides nothing: a rule sees none of them"
)]
async fn sweep(
    store: Arc<dyn Store>,
    clock: Clock,
    every: Duration,
    mut shutdown: rocket::Shutdown,
) {
    let mut every = tokio::time::interval(every);
    loop {
        tokio::select! {
            _ = &mut shutdown => return,
            _ = every.tick() => {}
        }
        outlive(sweep_all(store.clone(), clock.clone())).await;
    }
}

/// Runs `sweeping` in a task of its own: if it panics, the next sweep still comes.
async fn outlive(sweeping: impl Future<Output = Result<(), StoreError>> + Send + 'static) {
    match tokio::spawn(sweeping).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "expired rows were not swept"),
        // The panic hook has logged where. The payload may quote a row.
        Err(_) => tracing::error!("expired rows were not swept: the sweep panicked"),
    }
}

/// Sweeps in small batches, so that other steps get their turn in between.
async fn sweep_all(store: Arc<dyn Store>, clock: Clock) -> Result<(), StoreError> {
    while store.sweep(clock.now()).await? > 0 {
        // A store in memory sweeps without a wait.
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a task of its own, the panic would end the sweeper.
    #[tokio::test]
    async fn a_sweep_that_panics_ends_itself_alone() {
        outlive(async { panic!("an unexpected row") }).await;
        outlive(async { Ok(()) }).await;
    }
}
