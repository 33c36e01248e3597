//! The cores: servers on the first, load and providers on the last.

use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::BenchError;

/// The core of the measured server, and that of everything else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    server: usize,
    load: usize,
}

impl Cores {
    /// The first and the last core that this process may use.
    pub(crate) fn available() -> Result<Self, BenchError> {
        let allowed = sched_getaffinity(None).map_err(std::io::Error::from)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        match (cores.next(), cores.next_back()) {
            (Some(server), Some(load)) => Ok(Self { server, load }),
            _ => Err(BenchError::Server(
                "a benchmark needs two cores, one for the server and one for the load".to_owned(),
            )),
        }
    }

    /// Keeps this process, and those that it starts, on the core of the load.
    pub(crate) fn stay_on_load(self) -> Result<(), BenchError> {
        let mut own = CpuSet::new();
        own.set(self.load);
        sched_setaffinity(None, &own).map_err(std::io::Error::from)?;
        Ok(())
    }

    /// The command that runs `program` on the server's core alone: programs count their
    /// cores when they start.
    pub(crate) fn on_server(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("taskset");
        command.arg("--cpu-list").arg(self.server.to_string());
        command.arg(program);
        command
    }
}
