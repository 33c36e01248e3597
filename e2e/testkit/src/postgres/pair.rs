//! A primary and its standby, which takes over when the primary is killed.

use std::io;

use super::{DEFAULT_PORT, Durability, Server};

/// Whether a commit waits for the standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// It waits until the standby has written it to its disk.
    Synchronous,
    /// It does not wait: what the standby has not received is lost with the primary.
    Asynchronous,
}

/// Servers are killed, not their machine: what they wrote to their files survives.
const DURABILITY: Durability = Durability::Relaxed;

/// A standby whose primary has vanished looks for it again after this time, and does not
/// obey the order to promote itself before. By default it is five seconds.
const SETTINGS: [&str; 1] = ["wal_retrieve_retry_interval=100ms"];

/// Two servers, of which one accepts writes.
#[derive(Debug)]
pub struct Pair {
    /// The first is the primary.
    servers: [Server; 2],
    replication: Replication,
    /// The hosts of a URL, whichever of them is the primary.
    hosts: String,
}

impl Pair {
    /// Makes a cluster and serves it, and a copy of it that follows.
    ///
    /// # Errors
    ///
    /// If PostgreSQL is not installed, or does not start.
    pub fn start(replication: Replication) -> io::Result<Self> {
        let primary = Server::start_with(DURABILITY, &SETTINGS)?;
        let standby = Server::serve(DURABILITY, primary.socket(), DEFAULT_PORT, &SETTINGS)?;
        let mut pair = Self {
            hosts: format!("{},{}", primary.host(), standby.host()),
            servers: [primary, standby],
            replication,
        };
        pair.wait_until_standby_follows()?;
        Ok(pair)
    }

    /// The URL of the database `postgres` of the one that accepts writes.
    pub fn url(&self) -> String {
        super::url_of_writable(&self.hosts)
    }

    /// Stops the stream to the standby, as a stalled network does: it falls behind.
    ///
    /// # Errors
    ///
    /// If the primary does not answer.
    pub fn freeze_replication(&mut self) -> io::Result<()> {
        self.servers[0].order("freeze", "frozen").map(drop)
    }

    /// Ends the primary and everything it serves with SIGKILL.
    ///
    /// # Errors
    ///
    /// If it is dead.
    pub fn kill_primary(&mut self) -> io::Result<()> {
        self.servers[0].kill()
    }

    /// Makes the standby the primary. It waits for no standby of its own.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn promote_standby(&mut self) -> io::Result<()> {
        self.servers.swap(0, 1);
        self.servers[0].order("promote", "promoted").map(drop)
    }

    /// The number of commits of the server that was killed which the promoted one never
    /// received.
    ///
    /// # Errors
    ///
    /// If none was killed, or none promoted.
    pub fn lost_commits(&mut self) -> io::Result<u64> {
        let [primary, dead] = &mut self.servers;
        let count = dead.order(&format!("lost {}", primary.socket()), "lost")?;
        count.parse().map_err(io::Error::other)
    }

    /// Makes the server that was killed the standby of the one that was promoted.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn replace_standby(&mut self) -> io::Result<()> {
        let [primary, standby] = &mut self.servers;
        let order = format!("standby {}", primary.socket());
        standby.order(&order, "up")?;
        self.wait_until_standby_follows()
    }

    /// The copy was made without the setting, so that it waits for no standby when it is
    /// promoted.
    fn wait_until_standby_follows(&mut self) -> io::Result<()> {
        const WAIT: &str = "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_replication \
            WHERE state = 'streaming' AND sync_state = 'STATE') LOOP \
            PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$;";
        let [primary, _] = &mut self.servers;
        let state = match self.replication {
            Replication::Asynchronous => "async",
            Replication::Synchronous => {
                primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
                primary.execute("SELECT pg_reload_conf()")?;
                "sync"
            }
        };
        primary.execute(&WAIT.replace("STATE", state))?;
        // The process that makes checkpoints is the one that makes commits wait: when it
        // has made one, it has read the setting.
        primary.execute("CHECKPOINT").map(drop)
    }
}
