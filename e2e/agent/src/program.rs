//! A program that is started, awaited and ended, with the end of its output kept.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::sync::Notify;

use crate::time::{Stopwatch, pause};

/// The time between two looks whether a program listens.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The output that is kept, the latest.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// A running program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Its standard input, if that is a pipe: it stays open until the end.
    input: Option<ChildStdin>,
    /// Its standard error, if that is a pipe, until it is taken.
    errors: Option<ChildStderr>,
    group: Option<Pid>,
    /// Ends the group should this process end without doing so.
    guard: Option<Child>,
    output: Output,
    /// The length of the output whose lines were returned.
    read: usize,
}

/// The processes that end with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kills {
    /// The process that was started.
    Process,
    /// Everything that it has started as well, also when this process is killed.
    Group,
}

/// The reason for which a program does not listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotListening {
    /// It has ended before.
    Ended(ExitStatus),
    /// It runs, and the time is up.
    Late,
}

/// The end of what a program has printed, over its restarts.
#[derive(Debug, Clone, Default)]
pub struct Output(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    printed: Mutex<Printed>,
    /// The streams that have not ended.
    open: AtomicUsize,
    /// Notified when something was printed, or a stream has ended.
    grown: Notify,
}

/// The output of a program: its end, and the length of what came before.
#[derive(Debug, Clone, Default)]
pub struct Printed {
    end: Vec<u8>,
    /// The number of bytes before the end, which are not kept.
    pub dropped: usize,
}

/// Runs `command` without input to its end, and kills it if that is not within `limit`.
///
/// # Errors
///
/// If it cannot be started.
pub fn output_within(
    mut command: std::process::Command,
    limit: Duration,
) -> io::Result<std::process::Output> {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.spawn()?;
    let id = Pid::from_child(&program);
    let (in_time, over) = channel::<()>();
    std::thread::spawn(move || {
        if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(id, Signal::KILL);
        }
    });
    let output = program.wait_with_output();
    drop(in_time);
    output
}

impl Printed {
    /// The end, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.end).into_owned()
    }

    /// The number of bytes that were printed.
    pub fn total(&self) -> usize {
        self.dropped + self.end.len()
    }
}

impl Output {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        kept.end.extend_from_slice(bytes);
        // By halves, so that little is moved.
        if kept.end.len() > 2 * MAX_OUTPUT_BYTES {
            let too_much = kept.end.len() - MAX_OUTPUT_BYTES;
            kept.end.drain(..too_much);
            kept.dropped += too_much;
        }
        self.0.grown.notify_waiters();
    }

    /// The line after the first `read` bytes, and its end; the rest, once nothing follows.
    fn line_after(&self, read: usize, is_all: bool) -> Option<(String, usize)> {
        let kept = self.lock();
        let rest = kept.end.get(read.saturating_sub(kept.dropped)..)?;
        let line = match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => &rest[..=end],
            None if is_all && !rest.is_empty() => rest,
            None => return None,
        };
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        Some((text, read.max(kept.dropped) + line.len()))
    }

    fn lock(&self) -> MutexGuard<'_, Printed> {
        let printed = self.0.printed.lock();
        printed.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program {
    /// Starts `command`, whose standard output is read if it is a pipe.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(command: Command, kills: Kills) -> io::Result<Self> {
        Self::start_after(&Output::default(), command, kills)
    }

    /// The same with the output of earlier programs before its own.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start_after(output: &Output, mut command: Command, kills: Kills) -> io::Result<Self> {
        command.kill_on_drop(true);
        if kills == Kills::Group {
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let id = child.id().filter(|_| kills == Kills::Group);
        let group = id.and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let read = output.lock().total();
        keep(child.stdout.take(), output);
        Ok(Self {
            input: child.stdin.take(),
            errors: child.stderr.take(),
            child,
            group,
            guard: group.and_then(guard_of),
            output: output.clone(),
            read,
        })
    }

    /// Reads its standard error into its output.
    pub fn keep_errors(&mut self) {
        keep(self.errors.take(), &self.output);
    }

    /// Its standard error, if that is a pipe and was not taken or kept before.
    pub fn take_errors(&mut self) -> Option<ChildStderr> {
        self.errors.take()
    }

    /// The id of its process; none once it has ended.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The latest output.
    pub fn printed(&self) -> Printed {
        self.output.lock().clone()
    }

    /// The output, for a program that follows this one.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Waits for the next line of its output; none, if it has closed it.
    pub async fn next_line(&mut self) -> Option<String> {
        loop {
            let grown = self.output.0.grown.notified();
            let is_all = self.output.0.open.load(Ordering::SeqCst) == 0;
            if let Some((line, end)) = self.output.line_after(self.read, is_all) {
                self.read = end;
                return Some(line);
            }
            if is_all {
                return None;
            }
            grown.await;
        }
    }

    /// Writes a line to its standard input, which must be a pipe.
    ///
    /// # Errors
    ///
    /// If it does not read.
    pub async fn order(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut();
        let input = input.ok_or_else(|| io::Error::other("its standard input is no pipe"))?;
        input.write_all(format!("{line}\n").as_bytes()).await
    }

    /// Waits until something listens at `port` of this machine.
    ///
    /// # Errors
    ///
    /// If the program ends before, or nothing listens after `limit`.
    pub async fn listens_at(
        &mut self,
        host: &str,
        port: u16,
        limit: Duration,
    ) -> Result<(), NotListening> {
        let watch = Stopwatch::start();
        while watch.elapsed() < limit {
            if let Ok(Some(status)) = self.child.try_wait() {
                // The last lines may still be in the pipe.
                pause(LOOK_EVERY).await;
                return Err(NotListening::Ended(status));
            }
            if TcpStream::connect((host, port)).await.is_ok() {
                return Ok(());
            }
            pause(LOOK_EVERY).await;
        }
        Err(NotListening::Late)
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Kills it, and waits for its end; a dead one stays dead.
    pub async fn stop(&mut self) {
        self.kill();
        let _ = self.child.wait().await;
    }

    /// Once: the system may give the number of a group that has ended to another.
    fn kill(&mut self) {
        // Killed, it reads no end of its input.
        self.guard.take();
        if let Some(group) = self.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process that waits for the end of this one, and then ends `group`: a program that
/// outlives this one would keep its port.
fn guard_of(group: Pid) -> Option<Child> {
    let guard = Command::new("sh")
        .args(["-c", "read -r _; kill -KILL \"-$0\""])
        .arg(group.as_raw_nonzero().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    guard.ok()
}

/// Reads a stream into `output`, in the background, until it ends.
fn keep(stream: Option<impl AsyncRead + Unpin + Send + 'static>, output: &Output) {
    let Some(mut stream) = stream else { return };
    let output = output.clone();
    output.0.open.fetch_add(1, Ordering::SeqCst);
    tokio::spawn(async move {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            output.add(&chunk[..length]);
        }
        output.0.open.fetch_sub(1, Ordering::SeqCst);
        output.0.grown.notify_waiters();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    #[test]
    fn of_a_long_output_the_end_is_kept() {
        let output = Output::default();
        output.add(&vec![b'x'; 2 * MAX_OUTPUT_BYTES]);
        output.add(b"the last login");
        let printed = output.lock();
        assert!(printed.text().ends_with("the last login"));
        assert_eq!(printed.text().len(), MAX_OUTPUT_BYTES);
        assert_eq!(printed.total(), 2 * MAX_OUTPUT_BYTES + 14);
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let mut sleep = std::process::Command::new("sleep");
        sleep.arg("60");
        let output = output_within(sleep, Duration::from_millis(50)).unwrap();
        assert_eq!(output.status.code(), None);
    }

    #[tokio::test]
    async fn a_group_ends_when_this_process_is_killed() {
        let mut program = Program::start(shell("sleep 60"), Kills::Group).unwrap();
        // As the kernel closes it, when this process ends.
        program.guard.as_mut().unwrap().stdin.take();
        let ended = crate::time::within(LIMIT, program.ended()).await;
        assert!(ended.is_some(), "the program goes on");
    }

    #[tokio::test]
    async fn orders_are_answered_line_by_line_and_the_last_line_needs_no_end() {
        let echo = "read -r word; echo $word; printf rest";
        let mut program = Program::start(shell(echo), Kills::Process).unwrap();
        program.order("before").await.unwrap();
        assert_eq!(program.next_line().await.as_deref(), Some("before"));
        assert_eq!(program.next_line().await.as_deref(), Some("rest"));
        assert_eq!(program.next_line().await, None);
        let next = Program::start_after(program.output(), shell("echo after"), Kills::Group);
        let mut next = next.unwrap();
        assert_eq!(next.next_line().await.as_deref(), Some("after"));
        assert_eq!(next.printed().text(), "before\nrestafter\n");
    }
}
