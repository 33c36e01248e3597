//! Ctrl-C, or a request to end. The app is in a process group of its own, so that neither
//! reaches it: the examination ends it, and leaves the stack as it was found.

use std::future::pending;
use std::process::exit;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::INTERRUPTED;
use crate::time::pause;

/// The time for leaving the stack as it was found. A page that takes a minute to parse must
/// not make Ctrl-C wait for it.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Whether an interruption has come, since this began to listen.
#[derive(Debug)]
pub(super) struct Interruption(watch::Receiver<bool>);

impl Interruption {
    pub(super) fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            next_signal().await;
            let _ = sender.send(true);
            pause(CLEAN_UP).await;
            exit(INTERRUPTED.into());
        });
        Self(receiver)
    }

    /// Waits for an interruption; returns at once after one.
    pub(super) async fn wait(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|has_come| *has_come).await.is_err() {
            pending::<()>().await;
        }
    }
}

async fn next_signal() {
    let Ok(mut ended) = signal(SignalKind::terminate()) else {
        return pending().await;
    };
    tokio::select! {
        Ok(()) = tokio::signal::ctrl_c() => {}
        Some(()) = ended.recv() => {}
        else => pending().await,
    }
}
