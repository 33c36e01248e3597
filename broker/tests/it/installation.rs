//! A temporary folder, removed with the test; in one a configuration file with a database
//! beside it, where one project may call; and a broker of this process on a database file.

use std::fs::Permissions;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use broker::Dependencies;
use broker::clock::Clock;
use broker::config::Config;
use broker::store::StoreUrl;
use broker::store::fail_points::{FailPoint, FailPoints};
use contract::Digest;
use tempfile::TempDir;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::fake_provider::FakeProvider;
use crate::process::{BrokerCommand, BrokerProcess, CommandOutput};
use crate::test_broker::{ADA_SECRET, CALLBACK, TestBroker};

pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix_in("broker-", env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
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

    /// Checks that neither command starts, each with one line that contains all of `texts`.
    #[track_caller]
    pub(crate) fn refuses_to_start(&self, texts: &[&str]) {
        for command in ["check", "serve"] {
            let output = BrokerCommand::with(command, &self.config).output();
            texts.iter().for_each(|text| output.failed(text));
        }
    }
}

/// A broker of this process on a database file, whose commits can be held and whose tables
/// can be disabled.
pub(crate) struct FileBroker {
    broker: TestBroker,
    scratch: Scratch,
    commits: Arc<Mutex<()>>,
    /// A message for each step that is about to be committed.
    steps: Receiver<()>,
}

impl Deref for FileBroker {
    type Target = TestBroker;

    fn deref(&self) -> &TestBroker {
        &self.broker
    }
}

impl FileBroker {
    pub(crate) async fn start() -> Self {
        Self::start_on(Clock::system(), |_| ()).await
    }

    /// Starts one with this clock and a changed configuration.
    pub(crate) async fn start_on(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let commits = Arc::<Mutex<()>>::default();
        let held = commits.clone();
        let (sender, steps) = channel();
        let dependencies = Dependencies {
            clock,
            fail_points: FailPoints::new(move |point| {
                if point == FailPoint::BeforeCommit {
                    let _ = sender.send(());
                    drop(held.blocking_lock());
                }
            }),
            // Once, at the start: the sweeper commits, too.
            sweep_every: Some(Duration::from_secs(3600)),
            ..Dependencies::default()
        };
        let scratch = Scratch::new();
        let url = StoreUrl::SqliteFile(scratch.file("broker.db"));
        let broker = TestBroker::start_in(dependencies, |config| {
            config.store.url = url;
            change(config);
        });
        Self {
            broker: broker.await,
            scratch,
            commits,
            steps,
        }
    }

    /// Holds every commit until the guard is dropped.
    pub(crate) async fn hold(&self) -> OwnedMutexGuard<()> {
        let held = self.commits.clone().lock_owned().await;
        self.steps.try_iter().for_each(drop);
        held
    }

    /// Waits until a step is held.
    pub(crate) fn wait_for_step(&self) {
        self.steps.recv_timeout(Duration::from_secs(20)).unwrap();
    }

    /// Makes every step fail that uses this table.
    pub(crate) fn disable(&self, table: &str) {
        self.execute(&format!("ALTER TABLE {table} RENAME TO away"));
    }

    pub(crate) fn enable(&self, table: &str) {
        self.execute(&format!("ALTER TABLE away RENAME TO {table}"));
    }

    /// Locks the database until the connection is dropped.
    pub(crate) fn lock(&self) -> rusqlite::Connection {
        self.execute("BEGIN IMMEDIATE")
    }

    fn execute(&self, statement: &str) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(self.scratch.file("broker.db")).unwrap();
        file.execute_batch(statement).unwrap();
        file
    }
}
