//! A program that is started, awaited and ended, with the end of its output kept. Nothing
//! here needs a runtime but what is `async`: a test without one starts programs as well.

mod output;

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, kill_process, kill_process_group};
use tokio::net::TcpStream;

use crate::time::{Stopwatch, pause};

pub use output::{Output, Printed};
pub use rustix::process::Signal;

/// The time between two looks whether a program listens, or has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The time after which a program that is being ended is killed, whatever it has to end.
const END_LIMIT: Duration = Duration::from_secs(30);

/// A running program. It is ended when this is dropped.
#[derive(Debug)]
pub struct Program {
    /// Its standard output, if that is a pipe.
    pub output: Output,
    /// Its standard error, if that is a pipe.
    pub errors: Output,
    child: Child,
    /// Its standard input, if that is a pipe: it stays open until the end.
    input: Option<ChildStdin>,
    /// None once it was used.
    ends_by: Option<EndsBy>,
    /// Ends the group should this process end without doing so.
    guard: Option<Child>,
}

/// The means by which a program is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsBy {
    /// It is killed.
    Kill,
    /// It is killed with everything that it has started. Should this process be killed
    /// before, a guard kills all; but a program whose standard input is a pipe has to end
    /// all by itself when that ends.
    KillOfGroup,
    /// Its standard input is closed, and it ends in its own time: it has more to end than
    /// itself.
    EndOfInput,
}

/// The reason for which a program does not listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotListening {
    /// It has ended before.
    Ended(ExitStatus),
    /// It runs, and the time is up.
    Late,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Completed {
    /// Its exit status; none if it was killed.
    pub code: Option<i32>,
    /// The text of its standard output.
    pub stdout: String,
    /// The text of its standard error.
    pub stderr: String,
}

/// Runs `command` without input to its end, and kills it if that is not within `limit`; at
/// the end, it kills everything that it has started.
///
/// # Errors
///
/// If it cannot be started.
pub fn output_within(mut command: Command, limit: Duration) -> io::Result<Completed> {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program::start(command, EndsBy::KillOfGroup)?;
    let code = program.ended_within(limit)?.code();
    // What it left behind would keep its streams open.
    program.stop();
    let text = |output: &Output| output.whole(END_LIMIT).unwrap_or_else(|so_far| so_far);
    Ok(Completed {
        code,
        stdout: text(&program.output),
        stderr: text(&program.errors),
    })
}

impl Program {
    /// Starts `command`. Each of its streams that is a pipe is read.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(command: Command, ends_by: EndsBy) -> io::Result<Self> {
        Self::spawn(command, ends_by, Output::default(), Output::default())
    }

    /// The same with both of its streams as one, after the output of an earlier program.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start_after(output: &Output, command: Command, ends_by: EndsBy) -> io::Result<Self> {
        let output = output.behind();
        Self::spawn(command, ends_by, output.clone(), output)
    }

    fn spawn(
        mut command: Command,
        ends_by: EndsBy,
        output: Output,
        errors: Output,
    ) -> io::Result<Self> {
        match ends_by {
            EndsBy::Kill => {}
            EndsBy::KillOfGroup => drop(command.process_group(0)),
            EndsBy::EndOfInput => drop(command.stdin(Stdio::piped())),
        }
        let mut child = command.spawn()?;
        output.keep(child.stdout.take());
        errors.keep(child.stderr.take());
        let input = child.stdin.take();
        let needs_guard = ends_by == EndsBy::KillOfGroup && input.is_none();
        Ok(Self {
            output,
            errors,
            guard: needs_guard.then(|| guard_of(&child).ok()).flatten(),
            child,
            input,
            ends_by: Some(ends_by),
        })
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input, which must be a pipe.
    ///
    /// # Errors
    ///
    /// If it does not read.
    pub fn order(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut();
        let input = input.ok_or_else(|| io::Error::other("its standard input is no pipe"))?;
        input.write_all(format!("{line}\n").as_bytes())
    }

    /// Sends it a signal. It must not have been seen to end: another process may have its id.
    ///
    /// # Errors
    ///
    /// If there is no such process.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
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
            if let Ok(Some(status)) = self.status() {
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

    /// Waits until nothing listens at `port` of this machine, for `limit` at most: what a program
    /// has started may outlive it for a moment.
    pub async fn is_silent_at(host: &str, port: u16, limit: Duration) {
        let watch = Stopwatch::start();
        while watch.elapsed() < limit && TcpStream::connect((host, port)).await.is_ok() {
            pause(LOOK_EVERY).await;
        }
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            pause(LOOK_EVERY).await;
        }
    }

    /// Waits until it ends by itself, and kills it if that is not within `limit`.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn ended_within(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        let _in_time = self.kill_after(limit);
        self.child.wait()
    }

    /// Kills it after `limit`, unless the return value is dropped before.
    fn kill_after(&self, limit: Duration) -> Sender<()> {
        let (in_time, over) = channel();
        let id = Pid::from_child(&self.child);
        let kill = match self.ends_by {
            Some(EndsBy::KillOfGroup) => kill_process_group,
            _ => kill_process,
        };
        std::thread::spawn(move || {
            if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let _ = kill(id, Signal::KILL);
            }
        });
        in_time
    }

    /// Ends it, and waits for its end; a dead one stays dead.
    pub fn stop(&mut self) {
        self.end();
        let _ = self.ended_within(END_LIMIT);
    }

    /// Once: the system may give the number of a group that has ended to another.
    fn end(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            // Killed, it reads no end of its input.
            let _ = guard.kill();
            let _ = guard.wait();
        }
        match self.ends_by.take() {
            Some(EndsBy::Kill) => drop(self.child.kill()),
            Some(EndsBy::KillOfGroup) => {
                let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            }
            Some(EndsBy::EndOfInput) => drop(self.input.take()),
            None => {}
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let is_killed = self.ends_by != Some(EndsBy::EndOfInput);
        self.end();
        if is_killed {
            let _ = self.child.wait();
        }
    }
}

/// A process that waits for the end of this one, and then ends the group of `leader`: a
/// program that outlives this one would keep its port.
fn guard_of(leader: &Child) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", "read -r _; kill -KILL \"-$0\""])
        .arg(leader.id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let limit = Duration::from_millis(50);
        let output = output_within(shell("echo began; exec sleep 60"), limit).unwrap();
        assert_eq!((output.code, &*output.stdout), (None, "began\n"));
        // What it has started does not keep its streams open.
        let script = "echo began; sleep 60 & exit 3";
        let output = output_within(shell(script), LIMIT).unwrap();
        assert_eq!((output.code, &*output.stdout), (Some(3), "began\n"));
        let mut program = Program::start(shell("exec sleep 60"), EndsBy::Kill).unwrap();
        assert_eq!(program.ended_within(limit).unwrap().code(), None);
    }

    #[tokio::test]
    async fn a_group_ends_when_this_process_is_killed() {
        let mut command = shell("sleep 60");
        command.stdin(Stdio::null());
        let mut program = Program::start(command, EndsBy::KillOfGroup).unwrap();
        // As the kernel closes it, when this process ends.
        program.guard.as_mut().unwrap().stdin.take();
        let ended = crate::time::within(LIMIT, program.ended()).await;
        assert!(ended.is_some(), "the program goes on");
    }

    #[test]
    fn a_program_with_more_to_end_does_so_at_the_end_of_its_input() {
        let script = "read -r _ || echo closed; sleep 0.1; echo ended";
        let mut program = Program::start(shell(script), EndsBy::EndOfInput).unwrap();
        program.stop();
        assert_eq!(program.output.whole(LIMIT).unwrap(), "closed\nended\n");
    }

    #[test]
    fn what_is_found_is_in_complete_lines_and_the_failure_shows_them_all() {
        let script = "echo one; printf tw; read -r _; echo o; echo three >&2";
        let mut program = Program::start(shell(script), EndsBy::Kill).unwrap();
        let line = |text: &str, line: &str| text.lines().any(|it| it == line).then_some(());
        let (output, moment) = (program.output.clone(), Duration::from_millis(50));
        assert_eq!(output.find(LIMIT, |text| line(text, "one")), Ok(()));
        let early = output.find(moment, |text| line(text, "tw"));
        assert_eq!(early, Err("one\ntw".to_owned()));
        assert_eq!(output.whole(moment), Err("one\ntw".to_owned()));
        program.order("on").unwrap();
        assert_eq!(output.find(LIMIT, |text| line(text, "two")), Ok(()));
        let never = output.find(LIMIT, |text| line(text, "three"));
        assert_eq!(never, Err("one\ntwo\n".to_owned()));
        assert_eq!(program.errors.whole(LIMIT).unwrap(), "three\n");
    }

    #[tokio::test]
    async fn orders_are_answered_line_by_line_and_the_last_line_needs_no_end() {
        let echo = "read -r word; echo $word; printf rest";
        let mut program = Program::start(shell(echo), EndsBy::Kill).unwrap();
        assert_eq!(program.output.line_within(Duration::ZERO), None);
        program.order("before").unwrap();
        assert_eq!(program.output.next_line().await.as_deref(), Some("before"));
        assert_eq!(program.output.line_within(LIMIT).as_deref(), Some("rest"));
        assert_eq!(program.output.next_line().await, None);
        let after = shell("echo after >&2");
        let mut next = Program::start_after(&program.output, after, EndsBy::Kill).unwrap();
        assert_eq!(next.output.next_line().await.as_deref(), Some("after"));
        assert_eq!(next.output.text(), "before\nrestafter\n");
    }
}
