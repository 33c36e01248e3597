//! A measured server as a process, and what it has used. The servers themselves, and the
//! providers behind them, are in the modules.

pub(crate) mod broker;
pub(crate) mod database;
pub(crate) mod floors;
pub(crate) mod providers;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::error::BenchError;

/// A server that listens. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pub(crate) address: SocketAddr,
    process: Child,
    /// The answers to its orders.
    output: Option<BufReader<ChildStdout>>,
    files: Option<TempDir>,
}

/// The time in which a server must answer.
const PATIENCE: Duration = Duration::from_secs(60);

impl ServerProcess {
    /// Starts a server that prints its address, or its URL, as its first line.
    pub(crate) fn printing_its_address(mut command: Command) -> Result<Self, BenchError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = Self::spawn(command, (Ipv4Addr::LOCALHOST, 0).into())?;
        server.output = server.process.stdout.take().map(BufReader::new);
        let line = server.read_line()?;
        let address = line.trim_start_matches("http://").parse();
        server.address =
            address.map_err(|_| BenchError::because("a server of this benchmark did not start"))?;
        Ok(server)
    }

    /// Starts a server at `address`, and waits until it answers a GET of `path` with 200.
    /// Returns the time that this took.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
    pub(crate) fn answering(
        mut command: Command,
        address: SocketAddr,
        path: &str,
    ) -> Result<(Self, Duration), BenchError> {
        let program = command.get_program().display().to_string();
        command.stdout(Stdio::null());
        let began = Instant::now();
        let mut server = Self::spawn(command, address)?;
        while !answers(address, path) {
            if let Some(status) = server.process.try_wait()? {
                return Err(BenchError::Failed(format!(
                    "a server ended with {status} before it listened; if it is a broker, \
                     does it accept the configuration of this benchmark?"
                )));
            }
            if began.elapsed() > PATIENCE {
                let message = format!("{program} never answered GET {path}");
                return Err(BenchError::Failed(message));
            }
        }
        Ok((server, began.elapsed()))
    }

    fn spawn(mut command: Command, address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            address,
            process: command.spawn()?,
            output: None,
            files: None,
        })
    }

    /// The same server with its files, which are removed with it.
    pub(crate) fn with_files(mut self, files: TempDir) -> Self {
        self.files = Some(files);
        self
    }

    /// Writes a line to a server that prints its address, and returns the line with which
    /// it answers.
    pub(crate) fn order(&mut self, order: &str) -> io::Result<String> {
        if let Some(input) = &mut self.process.stdin {
            writeln!(input, "{order}")?;
        }
        self.read_line()
    }

    /// A line of its output; empty if it has ended.
    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if let Some(output) = &mut self.output {
            output.read_line(&mut line)?;
        }
        Ok(line.trim_end().to_owned())
    }

    /// Lets it end by itself.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        kill_process(Pid::from_child(&self.process), Signal::TERM)?;
        self.process.wait().map(drop)
    }

    /// The CPU time of all its threads.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
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
            .ok_or_else(|| BenchError::because("a server has ended"))
    }

    /// The number of its open files.
    pub(crate) fn open_files(&self) -> io::Result<usize> {
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
fn cpu_of(process: u32) -> io::Result<Duration> {
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
