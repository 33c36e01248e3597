//! A pgbouncer in front of a server, in transaction mode: a connection of it is lent for
//! one transaction. Needs Debian's package `pgbouncer`.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::Server;

/// A running pgbouncer; it ends with the process that started it.
#[derive(Debug)]
pub struct Bouncer {
    folder: String,
    _stdin: ChildStdin,
    _process: Child,
}

impl Bouncer {
    /// Starts one in front of `server`, with these lines in its configuration.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start; the reason is on standard error.
    pub fn start(server: &Server, settings: &[&str]) -> io::Result<Self> {
        let mut process = Command::new("sh")
            .args(["-c", include_str!("bouncer.sh"), "bouncer.sh"])
            .arg(server.socket())
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = process.stdin.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut line)?;
        match line.trim_end().strip_prefix("up ") {
            Some(folder) => Ok(Self {
                folder: folder.to_owned(),
                _stdin: stdin,
                _process: process,
            }),
            None => Err(io::Error::other(
                "pgbouncer does not start; is Debian's package `pgbouncer` installed?",
            )),
        }
    }

    /// The URL of one of the server's databases.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.replace('/', "%2F");
        format!("postgres://broker@{folder}:6432/{database}")
    }
}
