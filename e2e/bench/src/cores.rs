//! The cores: measured servers on the first, load and providers on the last.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::BenchError;

/// The cores that this process may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    /// That of the measured server.
    pub(crate) server: CpuSet,
    /// That of everything else, and of this process.
    pub(crate) load: CpuSet,
    /// All of them: the system decides.
    pub(crate) all: CpuSet,
}

impl Cores {
    /// The first and the last core that this process may use.
    pub(crate) fn available() -> Result<Self, BenchError> {
        let all = sched_getaffinity(None).map_err(io::Error::from)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
        let one = |core| {
            let mut set = CpuSet::new();
            set.set(core);
            set
        };
        match (cores.next().map(one), cores.next_back().map(one)) {
            (Some(server), Some(load)) => Ok(Self { server, load, all }),
            _ => Err(BenchError::because(
                "a benchmark needs two cores, one for the server and one for the load; this \
                 process may use only one",
            )),
        }
    }

    /// Keeps this thread, and the processes that it starts, on the core of the load.
    pub(crate) fn stay_on_load(self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.load)?)
    }

    /// Starts a process in `start` that runs on `cores`: it inherits those of the thread that
    /// starts it, and counts them when it starts.
    pub(crate) fn start_on<T>(self, cores: CpuSet, start: impl FnOnce() -> T) -> io::Result<T> {
        sched_setaffinity(None, &cores)?;
        let started = start();
        self.stay_on_load()?;
        Ok(started)
    }
}
