//! How much a broker's process holds: memory, file descriptors, its database.

use std::path::Path;

use serde::Serialize;

use super::stage::Stage;
use crate::Failure;

/// One look.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Vitals {
    /// Resident memory of the broker's process, in KiB.
    pub(crate) broker_kib: u64,
    /// The same of this process: people, wire, imitated providers, and what they
    /// remember. None of it is in the broker's.
    pub(crate) own_kib: u64,
    /// Open file descriptors of the broker.
    pub(crate) descriptors: u64,
    /// The database with its log, in bytes.
    pub(crate) database_bytes: u64,
}

impl Vitals {
    /// How it is now.
    pub(crate) fn of(stage: &Stage) -> Result<Self, Failure> {
        let process = stage.process();
        let process = Path::new("/proc").join(process.to_string());
        Ok(Self {
            broker_kib: resident_kib(&process)?,
            own_kib: resident_kib(Path::new("/proc/self"))?,
            descriptors: std::fs::read_dir(process.join("fd"))?.count() as u64,
            database_bytes: database_bytes(&stage.folder)?,
        })
    }
}

impl std::fmt::Display for Vitals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |kib: u64| format!("{}.{} MiB", kib / 1024, kib % 1024 * 10 / 1024);
        write!(
            f,
            "broker {}, {} descriptors, database {}; this process {}",
            mib(self.broker_kib),
            self.descriptors,
            mib(self.database_bytes / 1024),
            mib(self.own_kib),
        )
    }
}

fn resident_kib(process: &Path) -> Result<u64, Failure> {
    let status = std::fs::read_to_string(process.join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("a process has resident memory")?.parse()?)
}

fn database_bytes(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("broker.db") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}
