//! The stack and the app that the examiner itself has started.

use std::time::Duration;

use stack::Stack;
use tokio::sync::Mutex;
use url::Url;

use crate::app_process::AppProcess;
use crate::browser::origin;
use crate::control::{Control, Project, StackAddresses};
use crate::time::{Stopwatch, pause};
use crate::verdict::{Outcome, Stop};

/// The time after which a restart is given up.
const RESTART_TIMEOUT: Duration = Duration::from_secs(5);

/// A stack and an app that end with this value.
pub(super) struct Launched {
    pub(super) _stack: Stack,
    pub(super) command: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) process: Mutex<AppProcess>,
}

impl Launched {
    /// Ends the app, as a crash would, and starts it again at `start`.
    pub(super) async fn restart(&self, start: &Url) -> Outcome {
        let mut process = self.process.lock().await;
        let port = start.port_or_known_default().unwrap_or(80);
        let host = start.host_str().unwrap_or("localhost");
        let watch = Stopwatch::start();
        loop {
            let restarted = process.restart(&self.command, &self.environment);
            restarted.await.map_err(Stop::not_testable)?;
            let listens = process.listens_at(host, port).await;
            // The port may still be taken by the connections of the one before.
            if listens.is_ok() || watch.elapsed() > RESTART_TIMEOUT {
                return listens.map_err(Stop::not_testable);
            }
            pause(Duration::from_millis(200)).await;
        }
    }
}

/// The settings of an app that the examiner starts.
pub(super) fn environment(
    control: &Control,
    addresses: &StackAddresses,
    project: &Project,
    start: &Url,
) -> Vec<(String, String)> {
    let port = start.port_or_known_default().unwrap_or(80);
    let pairs = [
        ("SIGNIN_BASE_URL", addresses.broker.clone()),
        ("SIGNIN_CLIENT_ID", project.client_id.clone()),
        ("SIGNIN_CLIENT_SECRET", project.client_secret.clone()),
        ("CONSUMER_BASE_URL", origin(start)),
        ("PORT", port.to_string()),
        ("KIT_CLOCK_URL", format!("{}/api/clock", control.url())),
    ];
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
