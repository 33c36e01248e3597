//! A throwaway PostgreSQL server: its cluster is in a temporary folder, it listens at a
//! unix socket, and it ends with the process that started it.
//!
//! Needs PostgreSQL's programs (Debian's package `postgresql`). It may be started by
//! root, and runs as another user then: PostgreSQL refuses root.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The group whose members need a password; every other role is trusted. It exists from
/// the start, without members.
pub const PASSWORD_GROUP: &str = "guarded";

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It does, as in production.
    Durable,
    /// It does not: for tests without a crash.
    Relaxed,
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
    /// If PostgreSQL is not installed, or does not start; the reason is on standard
    /// error.
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
            Durability::Relaxed => "off",
        };
        let mut process = Command::new("sh")
            .args([
                "-c",
                include_str!("postgres/serve.sh"),
                "serve.sh",
                fsync,
                PASSWORD_GROUP,
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
        server.folder = server.read_up()?;
        Ok(server)
    }

    /// The URL of one of its databases, `postgres` or one made since.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.replace('/', "%2F");
        format!("postgres://broker@{folder}/{database}")
    }

    /// The URL of its database `postgres`, with `schema` as the search path. This
    /// does not create the schema.
    pub fn url_of_schema(&self, schema: &str) -> String {
        format!("{}?options=-csearch_path%3D{schema}", self.url("postgres"))
    }

    /// The URL of its database `postgres` for another role than the one that owns
    /// it all.
    pub fn url_of_role(&self, role: &str, password: &str) -> String {
        self.url("postgres")
            .replacen("broker@", &format!("{role}:{password}@"), 1)
    }

    /// The folder of its cluster.
    pub fn cluster(&self) -> PathBuf {
        Path::new(&self.folder).join("data")
    }

    /// Ends the server and everything it serves with SIGKILL.
    ///
    /// # Errors
    ///
    /// If there is nothing to kill.
    pub fn kill(&mut self) -> io::Result<()> {
        self.commands.write_all(b"kill\n")?;
        match self.read_line()?.as_str() {
            "down" => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Starts it again after a [`kill`](Self::kill), on what was committed.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.commands.write_all(b"start\n")?;
        self.read_up().map(drop)
    }

    fn read_up(&mut self) -> io::Result<String> {
        let said = self.read_line()?;
        match said.strip_prefix("up ") {
            Some(folder) => Ok(folder.to_owned()),
            None => Err(unexpected(&said)),
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

fn unexpected(said: &str) -> io::Error {
    io::Error::other(if said.is_empty() {
        "PostgreSQL does not start; is Debian's package `postgresql` installed?".to_owned()
    } else {
        format!("PostgreSQL's supervisor printed {said:?}")
    })
}
