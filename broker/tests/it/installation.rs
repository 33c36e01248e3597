//! A temporary folder, removed with the test; and in one a configuration file with a database
//! beside it, where one project may call.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use contract::Digest;

use crate::fake_provider::FakeProvider;
use crate::process::{BrokerCommand, BrokerProcess, CommandOutput};
use crate::test_broker::{ADA_SECRET, CALLBACK};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "broker-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file that only its owner can read, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).unwrap();
        self.set_mode(name, 0o600);
        path
    }

    /// Sets the permissions of a file.
    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        let permissions = Permissions::from_mode(mode);
        std::fs::set_permissions(self.file(name), permissions).unwrap();
    }

    /// The names and contents of the files whose names begin with `start`.
    pub(crate) fn read_all(&self, start: &str) -> Vec<(String, Vec<u8>)> {
        self.all(start)
            .map(|(name, path)| (name, std::fs::read(path).unwrap()))
            .collect()
    }

    /// Removes the files whose names begin with `start`.
    pub(crate) fn remove_all(&self, start: &str) {
        self.all(start)
            .for_each(|(_, path)| std::fs::remove_file(path).unwrap());
    }

    fn all(&self, start: &str) -> impl Iterator<Item = (String, PathBuf)> {
        std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
            .filter(move |(name, _)| name.starts_with(start))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file may still be open elsewhere.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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

    /// The command of a broker whose users `github` signs in.
    pub(crate) fn serve_at(&self, github: &FakeProvider) -> BrokerCommand {
        BrokerCommand::with("serve", &self.config)
            .env("BROKER_UPSTREAM__GITHUB__WEB_URL", &github.url())
            .env("BROKER_UPSTREAM__GITHUB__API_URL", &github.url())
            .env("BROKER_UPSTREAM__TIMEOUT_MS", "60000")
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
