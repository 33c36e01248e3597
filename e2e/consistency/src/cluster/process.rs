//! A running broker, and the orders that it takes.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::replica::{MOVED, Order};
use crate::RunError;

/// One running broker.
pub(crate) struct Replica {
    /// Its URL, without a trailing slash.
    pub(crate) url: String,
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Its log, if it writes one, until it is taken.
    pub(crate) log: Option<ChildStderr>,
    /// Its orders; it ends when this is closed.
    orders: ChildStdin,
}

impl Replica {
    pub(super) async fn start(mut command: Command) -> Result<Self, RunError> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let orders = process.stdin.take().ok_or("standard input is piped")?;
        let output = process.stdout.take().ok_or("standard output is piped")?;
        let mut lines = BufReader::new(output).lines();
        let url = lines.next_line().await?.ok_or("a broker did not start")?;
        Ok(Self {
            url,
            log: process.stderr.take(),
            process,
            lines,
            orders,
        })
    }

    /// The id of its process; none once it has ended.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    async fn order(&mut self, order: Order) -> Result<(), RunError> {
        Ok(self
            .orders
            .write_all(format!("{order}\n").as_bytes())
            .await?)
    }

    pub(super) async fn advance(&mut self, by: Duration) -> Result<(), RunError> {
        self.order(Order::Advance(by)).await?;
        match self.lines.next_line().await?.as_deref() {
            Some(MOVED) => Ok(()),
            other => Err(format!("a broker wrote {other:?} when its clock was moved").into()),
        }
    }

    /// Lets open requests finish, and waits until it has ended.
    pub(crate) async fn stop(&mut self) -> Result<(), RunError> {
        self.order(Order::Stop).await?;
        let status = self.process.wait().await?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("a broker that was stopped ended with {status}").into()),
        }
    }

    /// Waits until it writes one more line, which it does when it pauses.
    pub(crate) async fn wait_until_paused(&mut self) -> Result<(), RunError> {
        let line = self.lines.next_line().await?;
        line.map(drop)
            .ok_or_else(|| "a broker ended by itself".into())
    }

    /// `kill -9`; a dead one stays dead.
    pub(crate) async fn kill(&mut self) -> Result<(), RunError> {
        Ok(self.process.kill().await?)
    }
}
