//! The cores: measured servers on the first, load and providers on the last.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::BenchError;

/// The core of the measured server, and that of everything else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    server: usize,
    load: usize,
    all: CpuSet,
}

/// The cores that a process runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoreChoice {
    /// The measured server's.
    Server,
    /// The load's, where this process is.
    Load,
    /// All of them: the system decides.
    Anywhere,
}

impl Cores {
    /// The first and the last core that this process may use.
    pub(crate) fn available() -> Result<Self, BenchError> {
        let all = sched_getaffinity(None).map_err(io::Error::from)?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
        match (cores.next(), cores.next_back()) {
            (Some(server), Some(load)) => Ok(Self { server, load, all }),
            _ => Err(BenchError::because(
                "a benchmark needs two cores, one for the server and one for the load; this \
                 process may use only one",
            )),
        }
    }

    /// Keeps this thread, and the processes that it starts, on the core of the load.
    pub(crate) fn stay_on_load(self) -> io::Result<()> {
        self.move_to(CoreChoice::Load)
    }

    /// Starts a process in `start` that runs at `place`: it inherits the cores of the
    /// thread that starts it, and counts them when it starts.
    pub(crate) fn at<T>(self, place: CoreChoice, start: impl FnOnce() -> T) -> io::Result<T> {
        self.move_to(place)?;
        let started = start();
        self.move_to(CoreChoice::Load)?;
        Ok(started)
    }

    fn move_to(self, place: CoreChoice) -> io::Result<()> {
        let one = |core| {
            let mut set = CpuSet::new();
            set.set(core);
            set
        };
        let set = match place {
            CoreChoice::Server => one(self.server),
            CoreChoice::Load => one(self.load),
            CoreChoice::Anywhere => self.all,
        };
        Ok(sched_setaffinity(None, &set)?)
    }
}
