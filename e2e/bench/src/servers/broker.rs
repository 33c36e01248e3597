//! A broker as operators start it, with its configuration in a file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{ServerProcess, free_address, providers};
use crate::cores::Cores;
use crate::error::BenchError;
use crate::load::login::{CALLBACK, CLIENT_ID, CLIENT_SECRET, digest};

/// PostgreSQL's name in a table.
pub(crate) const POSTGRES: &str = "PostgreSQL";

/// A broker's store.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// SQLite in memory.
    Memory,
    /// SQLite in this file.
    File(PathBuf),
    /// PostgreSQL at this URL.
    Postgres(String),
}

impl Store {
    /// Its name in a table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File(_) => "SQLite file",
            Self::Postgres(_) => POSTGRES,
        }
    }
}

/// A broker's files: its configuration, which its process reads when it starts.
#[derive(Debug)]
pub(crate) struct BrokerConfig {
    pub(crate) address: SocketAddr,
    folder: TempDir,
}

impl BrokerConfig {
    /// The configuration of a broker with `store`, whose users sign in at `providers`.
    pub(crate) fn new(store: &Store, providers: SocketAddr) -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
        let address = free_address()?;
        let config = Self { address, folder };
        std::fs::write(config.path(), config.text(store, providers))?;
        Ok(config)
    }

    /// The path of its configuration.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("broker.toml")
    }

    /// Starts `program` with this configuration on the server's core.
    pub(crate) fn start(self, program: &Path, cores: Cores) -> Result<ServerProcess, BenchError> {
        let command = self.command(program);
        let start = || ServerProcess::answering(command, self.address, "/livez");
        let (server, _) = cores.start_on(cores.server, start)??;
        Ok(server.with_files(self.folder))
    }

    /// The command that serves this configuration. Its log is formatted, written, and
    /// lost.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("serve").arg("--config").arg(self.path());
        // Its configuration is the file.
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.stderr(Stdio::null());
        command
    }

    fn text(&self, store: &Store, providers: SocketAddr) -> String {
        let store = match store {
            Store::Memory => "sqlite::memory:".to_owned(),
            Store::File(path) => format!("sqlite:{}", path.display()),
            Store::Postgres(url) => url.clone(),
        };
        let (address, client, providers) = (
            self.address,
            providers::CLIENT_ID,
            format!("http://{providers}"),
        );
        let (cookie_key, secret) = (digest("the cookie key"), digest(CLIENT_SECRET));
        format!(
            r#"
            base_url = "http://{address}"
            bind = "{address}"
            cookie_keys = ["{cookie_key}"]
            [store]
            url = "{store}"
            [limits]
            live_sessions = 10000000
            [upstream.google]
            client_id = "{client}"
            client_secret = "{client}"
            issuer = "{providers}"
            [upstream.github]
            client_id = "{client}"
            client_secret = "{client}"
            web_url = "{providers}"
            api_url = "{providers}"
            [[project]]
            name = "Bench"
            client_id = "{CLIENT_ID}"
            client_secret_sha256 = "{secret}"
            redirect_uris = ["{CALLBACK}"]
            "#
        )
    }
}
