//! A machine whose power can be cut, with a broker on it.

use std::path::PathBuf;
use std::process::Command;

use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::installation::Installation;
use crate::slow_github::SlowGitHub;

const FORGETFUL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/store_failures/power_cut/forgetful.c"
);

/// A machine with a disk that keeps synced data only.
pub(super) struct Machine {
    installation: Installation,
    pub(super) github: SlowGitHub,
    library: PathBuf,
    disk: PathBuf,
}

impl Machine {
    pub(super) async fn new() -> Self {
        let installation = Installation::new();
        let [library, disk] = ["forgetful.so", "disk"].map(|name| installation.scratch.file(name));
        std::fs::create_dir(&disk).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([library.as_os_str(), FORGETFUL.as_ref()])
            .status()
            .expect("a C compiler, which builds SQLite, too");
        assert!(built.success());
        Self {
            github: SlowGitHub::start().await,
            installation,
            library,
            disk,
        }
    }

    /// Makes the files that `program` writes to the machine's folder files on the disk.
    pub(super) fn with_disk(&self, mut program: Command) -> Command {
        program
            .env("LD_PRELOAD", &self.library)
            .env("FORGETFUL_FOLDER", self.folder())
            .env("FORGETFUL_DISK", &self.disk);
        program
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.installation.scratch.file(".").canonicalize().unwrap()
    }

    /// Starts the broker on the files of the disk.
    pub(super) fn start(&self) -> BrokerProcess {
        let BrokerCommand(program) = self.github.broker(&self.installation);
        BrokerProcess::start(BrokerCommand(self.with_disk(program)))
    }

    /// Cuts the power and starts the broker again, without the data that it had not
    /// synced.
    pub(super) fn cut_power(&self, served: BrokerProcess) -> BrokerProcess {
        served.kill();
        self.installation.scratch.remove_all("broker.db");
        for (name, bytes) in self.on_disk("broker.db") {
            std::fs::write(self.installation.scratch.file(&name), bytes).unwrap();
        }
        self.start()
    }

    /// The files on the disk whose names begin with `start`.
    pub(super) fn on_disk(&self, start: &str) -> Vec<(String, Vec<u8>)> {
        let names = std::fs::read_dir(&self.disk).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(start))
            .map(|name| (name.clone(), std::fs::read(self.disk.join(name)).unwrap()))
            .collect()
    }
}
