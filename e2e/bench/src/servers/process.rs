//! One server as a process, and what it has used.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::BenchError;

/// A server that listens. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pub(crate) address: SocketAddr,
    process: Child,
}

/// The time in which a server must listen.
const PATIENCE: Duration = Duration::from_secs(60);

impl ServerProcess {
    /// Starts a server that prints its address as its first line.
    pub(crate) fn that_prints_its_address(mut command: Command) -> Result<Self, BenchError> {
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.trim().parse() {
            Ok(address) => Ok(Self { address, process }),
            Err(_) => Err(BenchError::Server(
                "a server of this benchmark did not start".to_owned(),
            )),
        }
    }

    /// Starts a server that listens at `address`, and waits until it does.
    pub(crate) fn listening_at(
        address: SocketAddr,
        mut command: Command,
    ) -> Result<Self, BenchError> {
        let process = command.stdout(Stdio::null()).spawn()?;
        let mut server = Self { address, process };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    fn wait_until_it_listens(&mut self) -> Result<(), BenchError> {
        let started = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.process.try_wait()? {
                let message = format!("a server ended with {status} before it listened");
                return Err(BenchError::Server(message));
            }
            if started.elapsed() > PATIENCE {
                return Err(BenchError::Server("a server never listened".to_owned()));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// The CPU time of all its threads. Linux counts each in nanoseconds, and the process
    /// only in hundredths of a second.
    pub(crate) fn cpu(&self) -> Result<Duration, BenchError> {
        cpu_of(self.process.id())
    }

    /// Its resident memory in bytes.
    pub(crate) fn memory(&self) -> Result<u64, BenchError> {
        let status = std::fs::read_to_string(self.proc().join("status"))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line
            .and_then(|line| line.split_whitespace().nth(1))
            .and_then(|number| number.parse::<u64>().ok());
        kib.map(|kib| kib * 1024)
            .ok_or_else(|| BenchError::Server("a server has ended".to_owned()))
    }

    fn proc(&self) -> PathBuf {
        Path::new("/proc").join(self.process.id().to_string())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The CPU time of the threads of a process.
pub(crate) fn cpu_of(process: u32) -> Result<Duration, BenchError> {
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
pub(crate) fn free_address() -> Result<SocketAddr, BenchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?)
}
