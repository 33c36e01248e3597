//! The state that all instances of an app share, as its owner describes it: settings for the app,
//! and the command of a store.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Deserialize;
use tempfile::TempDir;

use crate::app_process::AppProcess;

/// The way in which the instances of an app share their sessions. In each text `{folder}` is a
/// fresh folder of the testbed, and `{port}` a free port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Settings for the environment of every instance.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The command of a store, which is started before the app.
    #[serde(default)]
    pub command: Vec<String>,
}

/// The shared state of one testbed, which ends with this value.
#[derive(Default)]
pub(crate) struct SharedState {
    /// The settings for the app.
    pub(crate) environment: Vec<(String, String)>,
    _store: Option<AppProcess>,
    _folder: Option<TempDir>,
}

impl SharedState {
    /// Makes the folder, and starts the store if there is one.
    ///
    /// # Errors
    ///
    /// If the store does not start.
    pub(crate) async fn start(share: Option<&Share>) -> Result<Self, String> {
        let Some(share) = share else {
            return Ok(Self::default());
        };
        let folder = TempDir::new().map_err(|error| format!("share: no folder: {error}"))?;
        let port = free_port()?;
        let values = [folder.path().display().to_string(), port.to_string()];
        let fill = |text: &String| {
            text.replace("{folder}", &values[0])
                .replace("{port}", &values[1])
        };
        let settings = share.env.iter().map(|(name, it)| (name.clone(), fill(it)));
        let environment: Vec<_> = settings.collect();
        let command: Vec<_> = share.command.iter().map(fill).collect();
        let mut store = None;
        if !command.is_empty() {
            let of_share = |error| format!("the store of share: {error}");
            let address = ("127.0.0.1", port);
            let started = AppProcess::start(&command, environment.clone(), address);
            let mut started = started.map_err(of_share)?;
            let mut texts = share.command.iter().chain(share.env.values());
            if texts.any(|text| text.contains("{port}")) {
                started.listens().await.map_err(of_share)?;
            }
            store = Some(started);
        }
        Ok(Self {
            environment,
            _store: store,
            _folder: Some(folder),
        })
    }
}

/// A port on which nothing listens, and which no program gets meanwhile that leaves the choice to
/// the system.
///
/// # Errors
///
/// If there is none.
pub(crate) fn free_port() -> Result<u16, String> {
    let bound = stack::free_port(Ipv4Addr::LOCALHOST.into());
    let port = bound.and_then(|listener| Ok(listener.local_addr()?.port()));
    port.map_err(|error| format!("no port is free: {error}"))
}
