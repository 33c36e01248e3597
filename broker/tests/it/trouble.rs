//! A store in trouble: one clear line and no start, or 503 while it lasts; and
//! then everything goes on, with all that was acknowledged and nothing by halves.
//!
//! The real program, because only a process can be locked out, run out of room,
//! or be killed by a signal.

#[cfg(feature = "postgres")]
mod clocks;
mod damaged;
mod full_disk;
mod locked;
mod newer;
#[cfg(feature = "postgres")]
mod password;
mod power_cut;
mod unwritable_log;

use std::path::PathBuf;

use contract::Digest;

use crate::broker_process::BrokerProcess;
use crate::command::{BrokerCommand, CommandOutput};
use crate::scratch::Scratch;
use crate::test_broker::{ADA_SECRET, CALLBACK};

/// A configuration with a database beside it, where one project may call.
pub(crate) struct Place {
    scratch: Scratch,
    pub(crate) config: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with_store("sqlite:broker.db")
    }

    fn with_store(url: &str) -> Self {
        let scratch = Scratch::new();
        let digest = Digest::of(ADA_SECRET.as_bytes()).to_text();
        let config = scratch.write(
            "broker.toml",
            &format!(
                r#"
                base_url = "http://127.0.0.1:8000"
                bind = "127.0.0.1:0"
                cookie_keys = ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"]
                store.url = "{url}"
                [upstream.github]
                client_id = "github"
                client_secret = "GOCSPX"
                [[project]]
                name = "Ada"
                client_id = "prj_ada"
                client_secret_sha256 = "{digest}"
                redirect_uris = ["{CALLBACK}"]
                "#
            ),
        );
        Self { scratch, config }
    }

    /// Ready to serve: the tables are made.
    fn prepared() -> Self {
        let place = Self::new();
        assert_eq!(place.check().code, Some(0));
        place
    }

    fn database(&self) -> PathBuf {
        self.scratch.file("broker.db")
    }

    /// Another process's way to the database.
    fn connect(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }

    fn check(&self) -> CommandOutput {
        BrokerCommand::with("check", &self.config).output()
    }

    fn serve(&self) -> BrokerProcess {
        BrokerProcess::start(BrokerCommand::with("serve", &self.config))
    }

    /// Checks that neither command starts, each in one line that says this and
    /// names the database.
    #[track_caller]
    fn is_refused(&self, says: &str) {
        for command in ["check", "serve"] {
            let said = BrokerCommand::with(command, &self.config).output();
            said.failed(says);
            said.failed("broker.db");
        }
    }
}
