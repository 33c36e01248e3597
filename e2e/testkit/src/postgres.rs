//! A throwaway PostgreSQL server: its cluster is in a temporary folder, it listens at a
//! unix socket, and it ends with the process that started it. [`pair`] has two of them,
//! a primary and its standby, [`patroni`] three; a [`Bouncer`] is a pooler in front of one.
//!
//! Needs PostgreSQL's programs (Debian's package `postgresql`). It may be started by
//! root, and runs as another user then: PostgreSQL refuses root.

pub mod pair;
pub mod patroni;

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, Program};

use crate::server::free_port;

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

/// PostgreSQL's own. It names a socket in a folder of the server's.
const DEFAULT_PORT: u16 = 5432;

/// A running server; killed, it can be started again on the same folder.
#[derive(Debug)]
pub struct Server {
    folder: String,
    port: u16,
    supervisor: Program,
}

/// A pgbouncer in front of a server, in transaction mode: a connection of it is lent for
/// one transaction. It ends with the process that started it. Needs Debian's package
/// `pgbouncer`.
#[derive(Debug)]
pub struct Bouncer {
    folder: String,
    _supervisor: Program,
}

/// The time in which a supervisor follows an order, on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

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
        Self::serve(durability, "", DEFAULT_PORT, settings)
    }

    /// The same at a port of 127.0.0.1 as well.
    ///
    /// # Errors
    ///
    /// As above, or when no port is free.
    pub fn start_on_tcp(durability: Durability) -> io::Result<Self> {
        Self::serve(durability, "", free_port(), &["listen_addresses=127.0.0.1"])
    }

    fn serve(
        durability: Durability,
        primary: &str,
        port: u16,
        settings: &[&str],
    ) -> io::Result<Self> {
        let fsync = match durability {
            Durability::Durable => "on",
            Durability::Relaxed => "off",
        };
        let mut shell = Command::new("sh");
        shell
            .args(["-c", include_str!("postgres/serve.sh"), "serve.sh"])
            .args([fsync, PASSWORD_GROUP, primary])
            .args(settings.iter().flat_map(|setting| ["-c", *setting]))
            .env("PGPORT", port.to_string());
        let mut supervisor = supervise(shell)?;
        Ok(Self {
            folder: read_reply(&mut supervisor, "up", "PostgreSQL")?,
            port,
            supervisor,
        })
    }

    /// The URL of one of its databases, `postgres` or one made since.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://broker@{}/{database}", self.host())
    }

    /// Its host and port in a URL.
    fn host(&self) -> String {
        format!("{}:{}", self.folder.replace('/', "%2F"), self.port)
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

    /// The URL of its database `postgres` at this name or address, for a server that
    /// listens there.
    pub fn url_at(&self, host: &str) -> String {
        format!("postgres://broker@{host}:{}/postgres", self.port)
    }

    /// The folder of its cluster.
    pub fn cluster(&self) -> PathBuf {
        Path::new(&self.folder).join("data")
    }

    /// The folder of its unix socket.
    pub fn socket(&self) -> &str {
        &self.folder
    }

    /// Ends the server and everything it serves with SIGKILL.
    ///
    /// # Errors
    ///
    /// If there is nothing to kill.
    pub fn kill(&mut self) -> io::Result<()> {
        self.order("kill", "down").map(drop)
    }

    /// Starts it again after a [`kill`](Self::kill), on what was committed.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.order("start", "up").map(drop)
    }

    /// Runs statements, in one line, and returns the rows that they return.
    ///
    /// # Errors
    ///
    /// If one fails; the reason is on standard error.
    pub fn execute(&mut self, statements: &str) -> io::Result<String> {
        self.order(&format!("sql {statements}"), "done")
    }

    /// Gives an order, and returns what follows the reply to it.
    fn order(&mut self, order: &str, reply: &str) -> io::Result<String> {
        self.supervisor.order(order)?;
        read_reply(&mut self.supervisor, reply, "PostgreSQL")
    }
}

impl Bouncer {
    /// Starts one in front of `server`, with these lines in its configuration.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start; the reason is on standard error.
    pub fn start(server: &Server, settings: &[&str]) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", include_str!("postgres/bouncer.sh"), "bouncer.sh"])
            .arg(server.socket())
            .args(settings);
        let mut supervisor = supervise(shell)?;
        Ok(Self {
            folder: read_reply(&mut supervisor, "up", "pgbouncer")?,
            _supervisor: supervisor,
        })
    }

    /// The URL of one of the server's databases.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.replace('/', "%2F");
        format!("postgres://broker@{folder}:6432/{database}")
    }
}

/// The URL of the database `postgres` of the one of these hosts that accepts writes.
fn url_of_writable(hosts: &str) -> String {
    format!("postgres://broker@{hosts}/postgres?target_session_attrs=read-write")
}

/// Starts a shell that ends what it serves, and then itself, with its input. It is in a group
/// of its own: a kill of our group leaves it alive to do so.
fn supervise(mut shell: Command) -> io::Result<Program> {
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    shell.process_group(0);
    Program::start(shell, EndsBy::EndOfInput)
}

/// The text after the reply of the supervisor of `program`.
fn read_reply(supervisor: &mut Program, expected: &str, program: &str) -> io::Result<String> {
    let Some(line) = supervisor.output.line_within(LIMIT) else {
        let package = program.to_lowercase();
        return Err(io::Error::other(format!(
            "{program} does not start; is Debian's package `{package}` installed?"
        )));
    };
    match line.split_once(' ').unwrap_or((&line, "")) {
        (reply, rest) if reply == expected => Ok(rest.to_owned()),
        _ => Err(io::Error::other(format!(
            "{program}'s supervisor printed {line:?}"
        ))),
    }
}
