//! One server as a process, and what it has used.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::BenchError;

/// A server that listens. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pub(crate) address: SocketAddr,
    process: Child,
    pipes: Option<Pipes>,
}

/// The standard input and output of a server.
#[derive(Debug)]
struct Pipes {
    orders: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipes {
    fn read_line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

/// The time in which a server must listen.
const PATIENCE: Duration = Duration::from_secs(60);

impl ServerProcess {
    /// Starts a server that prints its address, or its URL, as its first line.
    pub(crate) fn that_prints_its_address(mut command: Command) -> Result<Self, BenchError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let mut pipes = pipes.map(|(orders, output)| Pipes {
            orders,
            output: BufReader::new(output),
        });
        let line = pipes.as_mut().map(Pipes::read_line).transpose()?;
        let line = line.unwrap_or_default();
        match line.trim_start_matches("http://").parse() {
            Ok(address) => Ok(Self {
                address,
                process,
                pipes,
            }),
            Err(_) => Err(BenchError::Server(
                "a server of this benchmark did not start".to_owned(),
            )),
        }
    }

    /// Writes a line to a server that prints its address, and returns the line with which
    /// it answers.
    pub(crate) fn order(&mut self, order: &str) -> Result<String, BenchError> {
        let ended = || BenchError::Server("a server takes no orders".to_owned());
        let pipes = self.pipes.as_mut().ok_or_else(ended)?;
        writeln!(pipes.orders, "{order}")?;
        Ok(pipes.read_line()?)
    }

    /// Starts a server that listens at `address`, and waits until it does.
    pub(crate) fn listening_at(
        address: SocketAddr,
        mut command: Command,
    ) -> Result<Self, BenchError> {
        let process = command.stdout(Stdio::null()).spawn()?;
        let mut server = Self {
            address,
            process,
            pipes: None,
        };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    fn wait_until_it_listens(&mut self) -> Result<(), BenchError> {
        let started = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.process.try_wait()? {
                let message = format!(
                    "a server ended with {status} before it listened; if it is a broker, \
                     does it accept the configuration of this benchmark?"
                );
                return Err(BenchError::Server(message));
            }
            if started.elapsed() > PATIENCE {
                return Err(BenchError::Server("a server never listened".to_owned()));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
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

    /// The number of its open files.
    pub(crate) fn open_files(&self) -> Result<usize, BenchError> {
        Ok(std::fs::read_dir(self.proc().join("fd"))?.count())
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

/// The CPU time of a process and its children, with that of the children that have ended,
/// which Linux counts in hundredths of a second.
pub(crate) fn cpu_of_family(parent: u32) -> Result<Duration, BenchError> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{parent}/stat"))?;
    let ended: u32 = fields(&stat)
        .skip(13)
        .take(2)
        .filter_map(|it| it.parse::<u32>().ok())
        .sum();
    let mut all = cpu_of(parent)? + TICK * ended;
    for entry in std::fs::read_dir("/proc")? {
        let Some(process) = entry?.file_name().to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        let of = stat
            .ok()
            .and_then(|stat| fields(&stat).nth(1)?.parse::<u32>().ok());
        if of == Some(parent) {
            // It may have ended since.
            all += cpu_of(process).unwrap_or_default();
        }
    }
    Ok(all)
}

/// The fields of a process after its name, which may contain anything: the first is its
/// state, the second its parent.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace()
}
