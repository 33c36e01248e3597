//! A machine whose power can be cut, with a broker on it.

use std::path::PathBuf;
use std::process::Command;

use super::super::Place;
use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::slow_github::SlowGitHub;

const FORGETFUL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/trouble/power_cut/forgetful.c"
);

/// A machine with a disk that keeps nothing but what was synced.
pub(super) struct Machine {
    place: Place,
    pub(super) github: SlowGitHub,
    library: PathBuf,
    disk: PathBuf,
}

impl Machine {
    pub(super) async fn new() -> Self {
        let place = Place::new();
        let [library, disk] = ["forgetful.so", "disk"].map(|name| place.scratch.file(name));
        std::fs::create_dir(&disk).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([library.as_os_str(), FORGETFUL.as_ref()])
            .status()
            .expect("a C compiler, which builds SQLite, too");
        assert!(built.success());
        Self {
            github: SlowGitHub::start().await,
            place,
            library,
            disk,
        }
    }

    /// A program of this machine, whose files in its folder are on the disk.
    pub(super) fn with_disk(&self, mut program: Command) -> Command {
        program
            .env("LD_PRELOAD", &self.library)
            .env("FORGETFUL_FOLDER", self.folder())
            .env("FORGETFUL_DISK", &self.disk);
        program
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.place.scratch.file(".").canonicalize().unwrap()
    }

    /// Starts the broker on what the disk holds.
    pub(super) fn start(&self) -> BrokerProcess {
        let BrokerCommand(program) = self.github.broker(&self.place);
        BrokerProcess::start(BrokerCommand(self.with_disk(program)))
    }

    /// Cuts the power and starts the broker again: its process and whatever it had
    /// not synced are gone.
    pub(super) fn cut_power(&self, served: BrokerProcess) -> BrokerProcess {
        served.kill();
        self.place.scratch.remove_all("broker.db");
        for (name, bytes) in self.on_disk("broker.db") {
            std::fs::write(self.place.scratch.file(&name), bytes).unwrap();
        }
        self.start()
    }

    /// The files on the disk whose names begin like this.
    pub(super) fn on_disk(&self, start: &str) -> Vec<(String, Vec<u8>)> {
        let names = std::fs::read_dir(&self.disk).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(start))
            .map(|name| (name.clone(), std::fs::read(self.disk.join(name)).unwrap()))
            .collect()
    }
}
