//! A PostgreSQL server of a test's own: made in a temporary folder, reached over
//! a unix socket, gone with the process that started it.
//!
//! Needs PostgreSQL's programs (Debian's package `postgresql`), and root or
//! anybody else to run it; never root itself, which PostgreSQL refuses.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The group whose members must prove a password; everybody else is trusted. It
/// is there from the start, without members.
pub const GUARDED: &str = "guarded";

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It does, as in production.
    Durable,
    /// It does not: for tests that crash nothing.
    Hasty,
}

/// A running server; killed, it can be started again on the same folder.
#[derive(Debug)]
pub struct Server {
    folder: String,
    commands: ChildStdin,
    replies: BufReader<ChildStdout>,
    _process: Child,
}

impl Server {
    /// Makes a cluster and serves it.
    ///
    /// # Errors
    ///
    /// When PostgreSQL is not installed, or does not start; it says why on
    /// standard error.
    pub fn start(durability: Durability) -> io::Result<Self> {
        Self::start_with(durability, &[])
    }

    /// The same with these settings (`lock_timeout=0`) as the server's defaults.
    ///
    /// # Errors
    ///
    /// As above, or when it does not know a setting.
    pub fn start_with(durability: Durability, settings: &[&str]) -> io::Result<Self> {
        let fsync = match durability {
            Durability::Durable => "on",
            Durability::Hasty => "off",
        };
        let mut process = Command::new("sh")
            .args([
                "-c",
                include_str!("postgres/serve.sh"),
                "serve.sh",
                fsync,
                GUARDED,
            ])
            .args(settings.iter().flat_map(|setting| ["-c", *setting]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let commands = process.stdin.take().expect("it is piped");
        let replies = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut server = Self {
            folder: String::new(),
            commands,
            replies,
            _process: process,
        };
        server.folder = server.hear_up()?;
        Ok(server)
    }

    /// The URL of one of its databases, `postgres` or one made since.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.replace('/', "%2F");
        format!("postgres://broker@{folder}/{database}")
    }

    /// The URL of its database `postgres`, with `schema` as what is meant by an
    /// unqualified name. The schema is not made by this.
    pub fn url_of_schema(&self, schema: &str) -> String {
        format!("{}?options=-csearch_path%3D{schema}", self.url("postgres"))
    }

    /// The URL of its database `postgres` for another role than the one that owns
    /// it all.
    pub fn url_of_role(&self, role: &str, password: &str) -> String {
        self.url("postgres")
            .replacen("broker@", &format!("{role}:{password}@"), 1)
    }

    /// Where its cluster is.
    pub fn cluster(&self) -> PathBuf {
        Path::new(&self.folder).join("data")
    }

    /// Ends the server and everything it serves with SIGKILL.
    ///
    /// # Errors
    ///
    /// When there is nothing to kill.
    pub fn kill(&mut self) -> io::Result<()> {
        self.commands.write_all(b"kill\n")?;
        match self.hear()?.as_str() {
            "down" => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Starts it again after a [`kill`](Self::kill), on what was committed.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.commands.write_all(b"start\n")?;
        self.hear_up().map(drop)
    }

    fn hear_up(&mut self) -> io::Result<String> {
        let said = self.hear()?;
        match said.strip_prefix("up ") {
            Some(folder) => Ok(folder.to_owned()),
            None => Err(unexpected(&said)),
        }
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

fn unexpected(said: &str) -> io::Error {
    io::Error::other(if said.is_empty() {
        "PostgreSQL does not start; is Debian's package `postgresql` installed?".to_owned()
    } else {
        format!("PostgreSQL's keeper said {said:?}")
    })
}
