//! Three servers, each under a Patroni, which decides which of them accepts writes.

use std::io;
use std::process::Command;

use agent::program::Program;

use super::{read_reply, supervise};
use crate::server::free_port;

/// Its ports: etcd's two, and five for each server.
const PORTS: usize = 17;

/// A failure of the server that accepts writes, and of its Patroni.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Both and all their children stop with SIGSTOP.
    Freeze,
    /// The network passes nothing from them or to them: neither etcd, nor the other servers,
    /// nor a client hears of them.
    Cut,
    /// Both and all their children end with SIGKILL.
    Kill,
}

/// Debian's Patroni on three servers, and an etcd of one. They end with the process that
/// started them. Needs Debian's packages `patroni` and `etcd-server`.
#[derive(Debug)]
pub struct Patroni {
    /// The hosts of a URL, whichever of them accepts writes.
    hosts: String,
    supervisor: Program,
}

impl Failure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Freeze, Self::Cut, Self::Kill];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Freeze => "freeze",
            Self::Cut => "cut",
            Self::Kill => "kill",
        }
    }
}

impl Patroni {
    /// Makes a cluster, and returns when two servers follow the third.
    ///
    /// # Errors
    ///
    /// If Patroni or etcd is not installed, or does not start; the reason is on standard
    /// error.
    pub fn start() -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", include_str!("patroni.sh"), "patroni.sh"])
            .args(std::iter::repeat_with(|| free_port().to_string()).take(PORTS));
        let mut supervisor = supervise(shell)?;
        Ok(Self {
            hosts: read_reply(&mut supervisor, "up", "Patroni")?,
            supervisor,
        })
    }

    /// The URL of the database `postgres` of the one that accepts writes.
    pub fn url(&self) -> String {
        super::url_of_writable(&self.hosts)
    }

    /// Lets the one that accepts writes fail. Patroni promotes another by itself.
    ///
    /// # Errors
    ///
    /// If none does.
    pub fn fail(&mut self, failure: Failure) -> io::Result<()> {
        self.order(failure.name(), "down")
    }

    /// Undoes the last failure, and returns when that server follows another, which has a
    /// synchronous standby.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn heal(&mut self) -> io::Result<()> {
        self.order("heal", "whole")
    }

    fn order(&mut self, order: &str, reply: &str) -> io::Result<()> {
        self.supervisor.order(order)?;
        read_reply(&mut self.supervisor, reply, "Patroni").map(drop)
    }
}
