//! A measured server as a process, on a core of its own, and what it has used. The servers
//! themselves, and the providers behind them, are in the modules.
//!
//! It starts on the first core that this process may use; load and providers are on the
//! last.

pub(crate) mod broker;
pub(crate) mod floors;
pub(crate) mod providers;
pub(crate) mod relay;

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::process::resident_kib;
use agent::program::{EndsBy, Program};
use agent::time::Stopwatch;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::BenchError;
use crate::load::CPU;
use crate::report::{Figure, Subject, Version, us};
use broker::Database;

/// The command of a server, its address, and a path that it answers with 200 when it serves.
pub(crate) type Start = (Command, SocketAddr, String);

/// A server that listens. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) program: Program,
}

/// A server whose figures have a name.
pub(crate) struct Measured<'a> {
    pub(crate) subject: Subject,
    pub(crate) server: Server,
    /// The database of a broker on PostgreSQL.
    pub(crate) database: Option<&'a Database>,
}

impl Measured<'_> {
    /// A server of this tree, without a database.
    pub(crate) fn present(name: &str, server: Server) -> Self {
        Self {
            subject: (name.to_owned(), Version::Present),
            server,
            database: None,
        }
    }

    /// The CPU time, and the use of its database, until now.
    pub(crate) async fn usage(&self) -> Result<Vec<(Figure, f64)>, BenchError> {
        let mut usage = vec![(CPU, us(self.server.cpu()?))];
        if let Some(database) = self.database {
            usage.extend(database.usage().await?);
        }
        Ok(usage)
    }
}

/// The time in which a server must answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

impl Server {
    /// Starts a server, and asks without a pause until it answers: the time that this takes,
    /// which is returned, is a figure.
    pub(crate) fn start(start: Start) -> Result<(Self, Duration), BenchError> {
        let (mut command, address, path) = start;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let watch = Stopwatch::start();
        let mut program = Program::start(command, EndsBy::Kill)?;
        while !answers(address, &path) {
            if let Some(status) = program.status()? {
                return Err(BenchError::because(format!(
                    "a server ended with {status} before it listened; if it is a broker, \
                     does it accept the configuration of this benchmark?"
                )));
            }
            if watch.elapsed() > PATIENCE {
                let reason = format!("a server never answered GET {path}");
                return Err(BenchError::because(reason));
            }
        }
        Ok((Self { address, program }, watch.elapsed()))
    }

    /// The CPU time of all its threads.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        cpu_of(self.program.id())
    }

    /// Its resident memory in megabytes.
    pub(crate) fn megabytes(&self) -> io::Result<f64> {
        Ok(resident_kib(self.program.id())? as f64 * 1024.0 / 1e6)
    }
}

fn answers(address: SocketAddr, path: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else {
        std::thread::yield_now();
        return false;
    };
    let port = address.port();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

/// The CPU time of the threads of a process. Linux counts each in nanoseconds, and the
/// process only in hundredths of a second.
pub(crate) fn cpu_of(process: u32) -> io::Result<Duration> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"))?;
    let nanos = threads
        .filter_map(|thread| {
            // A thread may have ended since it was listed.
            let path = thread.ok()?.path().join("schedstat");
            let line = std::fs::read_to_string(path).ok()?;
            line.split(' ').next()?.parse::<u64>().ok()
        })
        .sum();
    Ok(Duration::from_nanos(nanos))
}

/// An address of this machine that was free a moment ago.
pub(crate) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

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
        let cores: Vec<_> = (0..CpuSet::MAX_CPU)
            .filter(|core| all.is_set(*core))
            .collect();
        let [first, .., last] = cores[..] else {
            return Err(BenchError::because(
                "a benchmark needs two cores, one for the server and one for the load; this \
                 process may use only one",
            ));
        };
        let [server, load] = [first, last].map(|core| {
            let mut set = CpuSet::new();
            set.set(core);
            set
        });
        Ok(Self { server, load, all })
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
