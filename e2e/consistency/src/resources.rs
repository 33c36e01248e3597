//! The resource usage of brokers: memory, file descriptors, their database.

use std::path::Path;

use agent::process::{open_files, resident_kib};
use serde::Serialize;

use crate::RunError;

/// The most by which brokers may grow once they are warm. What is kept for every login
/// exceeds it in a long run; an occasional peak does not.
const MAX_GROWTH: Resources = Resources {
    broker_kib: 16 * 1024,
    own_kib: u64::MAX,
    descriptors: 64,
    database_bytes: 8 * 1024 * 1024,
};

/// The usage at one moment.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Resources {
    /// Resident memory of the brokers' processes, in KiB.
    pub(crate) broker_kib: u64,
    /// The same of this process: users, proxies, imitated providers. None of it is in
    /// the brokers'.
    pub(crate) own_kib: u64,
    /// Open file descriptors of the brokers.
    pub(crate) descriptors: u64,
    /// The database file with its log, in bytes.
    pub(crate) database_bytes: u64,
}

impl Resources {
    /// Measures these processes and the database in `folder`.
    pub(crate) fn of(processes: Vec<u32>, folder: &Path) -> Result<Self, RunError> {
        let mut resources = Self {
            own_kib: resident_kib(std::process::id())?,
            database_bytes: database_bytes(folder)?,
            ..Self::default()
        };
        for process in processes {
            resources.broker_kib += resident_kib(process)?;
            resources.descriptors += open_files(process)? as u64;
        }
        Ok(resources)
    }

    /// A message for each resource that has grown too much since the brokers were `warm`.
    pub(crate) fn growth_violations(&self, warm: &Self) -> Vec<String> {
        const NAMES: [&str; 3] = [
            "memory, in KiB",
            "number of file descriptors",
            "database, in bytes",
        ];
        let values = |of: &Self| [of.broker_kib, of.descriptors, of.database_bytes];
        let (warm, last, most) = (values(warm), values(self), values(&MAX_GROWTH));
        let grown = (0..3).filter(|&at| last[at].saturating_sub(warm[at]) > most[at]);
        let violation = |at| {
            let (name, warm, last, most) = (NAMES[at], warm[at], last[at], most[at]);
            format!("the brokers' {name}, grew from {warm} to {last}, by more than {most}")
        };
        grown.map(violation).collect()
    }
}

impl std::fmt::Display for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |kib: u64| format!("{}.{} MiB", kib / 1024, kib % 1024 * 10 / 1024);
        write!(
            f,
            "brokers {}, {} descriptors, database {}; this process {}",
            mib(self.broker_kib),
            self.descriptors,
            mib(self.database_bytes / 1024),
            mib(self.own_kib),
        )
    }
}

fn database_bytes(folder: &Path) -> Result<u64, RunError> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("broker.db") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_bound_is_named() {
        let warm = Resources {
            broker_kib: 40 * 1024,
            descriptors: 50,
            ..Resources::default()
        };
        assert_eq!(warm.growth_violations(&warm), Vec::<String>::new());
        let grown = Resources {
            broker_kib: warm.broker_kib + MAX_GROWTH.broker_kib + 1,
            own_kib: 1_000_000,
            ..warm
        };
        let violations = grown.growth_violations(&warm);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].contains("memory"), "{violations:?}");
        assert_eq!(warm.growth_violations(&grown), Vec::<String>::new());
    }
}
