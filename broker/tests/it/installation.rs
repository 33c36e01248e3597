//! A configuration file with a database beside it, where one project may call.

use std::path::PathBuf;

use contract::Digest;

use crate::broker_process::BrokerProcess;
use crate::command::{BrokerCommand, CommandOutput};
use crate::scratch::Scratch;
use crate::test_broker::{ADA_SECRET, CALLBACK};

pub(crate) struct Installation {
    pub(crate) scratch: Scratch,
    pub(crate) config: PathBuf,
}

impl Installation {
    pub(crate) fn new() -> Self {
        Self::with_store("sqlite:broker.db")
    }

    pub(crate) fn with_store(url: &str) -> Self {
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

    /// An installation whose tables exist.
    pub(crate) fn with_tables() -> Self {
        let installation = Self::new();
        assert_eq!(installation.check().code, Some(0));
        installation
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.scratch.file("broker.db")
    }

    /// Opens the database as another process would.
    pub(crate) fn connect(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }

    pub(crate) fn check(&self) -> CommandOutput {
        BrokerCommand::with("check", &self.config).output()
    }

    pub(crate) fn serve(&self) -> BrokerProcess {
        self.serve_with(&[])
    }

    /// Starts a broker with these settings in its environment.
    pub(crate) fn serve_with(&self, settings: &[(&str, &str)]) -> BrokerProcess {
        let mut broker = BrokerCommand::with("serve", &self.config);
        broker.0.envs(settings.iter().copied());
        BrokerProcess::start(broker)
    }

    /// Checks that neither command starts, each with one line that contains `text` and
    /// names the database.
    #[track_caller]
    pub(crate) fn assert_refused(&self, text: &str) {
        for command in ["check", "serve"] {
            let output = BrokerCommand::with(command, &self.config).output();
            output.failed(text);
            output.failed("broker.db");
        }
    }
}
