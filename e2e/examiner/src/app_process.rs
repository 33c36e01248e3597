//! The app as a process that the examiner starts, with its settings in the environment,
//! its output kept, and its whole process group ended at the end.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use crate::time::{Stopwatch, pause};

/// The time that an app has to answer its first request.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two looks whether the app answers.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The output that is kept, the latest: enough for every line of a check.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// A running app.
#[derive(Debug)]
pub(crate) struct AppProcess {
    child: Child,
    group: Option<Pid>,
    /// Ends the group should the examiner end without doing so.
    guard: Option<Child>,
    output: Output,
}

/// The end of what the app has printed, over its restarts.
#[derive(Debug, Clone, Default)]
struct Output(Arc<Mutex<Printed>>);

/// The output of the app: its end, and the length of what came before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Printed {
    end: Vec<u8>,
    /// The number of bytes before the end, which are not kept.
    pub(crate) dropped: usize,
}

impl Printed {
    /// The end, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.end).into_owned()
    }

    /// The number of bytes that were printed.
    pub(crate) fn total(&self) -> usize {
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
    }

    fn lock(&self) -> MutexGuard<'_, Printed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AppProcess {
    /// Starts `command` with `environment` beside its own.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub(crate) fn start(
        command: &[String],
        environment: &[(String, String)],
    ) -> Result<Self, String> {
        Self::start_with(command, environment, Output::default())
    }

    /// Ends the app and starts another, whose output follows.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub(crate) async fn restart(
        &mut self,
        command: &[String],
        environment: &[(String, String)],
    ) -> Result<(), String> {
        self.stop().await;
        *self = Self::start_with(command, environment, self.output.clone())?;
        Ok(())
    }

    fn start_with(
        command: &[String],
        environment: &[(String, String)],
        output: Output,
    ) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            // Into a pipe, Python prints in blocks, the last of which an end would lose.
            .env("PYTHONUNBUFFERED", "1")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| cannot_start(program, &error))?;
        keep(child.stdout.take(), &output);
        keep(child.stderr.take(), &output);
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self {
            child,
            group,
            guard: group.and_then(guard_of),
            output,
        })
    }

    /// Waits until something listens at `port` of this machine.
    ///
    /// # Errors
    ///
    /// If the command ends before, or never listens.
    pub(crate) async fn listens_at(&mut self, host: &str, port: u16) -> Result<(), String> {
        let watch = Stopwatch::start();
        while watch.elapsed() < START_TIMEOUT {
            if let Ok(Some(status)) = self.child.try_wait() {
                // The last lines may still be in the pipe.
                pause(LOOK_EVERY).await;
                return Err(self.ended(status));
            }
            if tokio::net::TcpStream::connect((host, port)).await.is_ok() {
                return Ok(());
            }
            pause(LOOK_EVERY).await;
        }
        Err(format!(
            "the command runs, but nothing listens on port {port} after {} s: let the app take its port from \
             PORT, or from the start page's address.{}",
            START_TIMEOUT.as_secs(),
            self.last_lines()
        ))
    }

    fn ended(&self, status: ExitStatus) -> String {
        format!(
            "the command ended before it listened ({status}): start it by hand and mend what it says.{}",
            self.last_lines()
        )
    }

    /// The end of the output, masked.
    fn last_lines(&self) -> String {
        let output = self.output().text();
        let lines: Vec<_> = output
            .lines()
            .rev()
            .filter(|it| !it.trim().is_empty())
            .take(3)
            .collect();
        if lines.is_empty() {
            return " It printed nothing.".to_owned();
        }
        let lines: Vec<_> = lines.into_iter().rev().map(stack::mask::scrub).collect();
        format!(" Its last words: {}", lines.join(" / "))
    }

    /// The latest output of the app, also of the runs before this one.
    pub(crate) fn output(&self) -> Printed {
        self.output.lock().clone()
    }

    /// Ends the app and everything that it has started, and waits for its end.
    pub(crate) async fn stop(&mut self) {
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
    }
}

impl Drop for AppProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn cannot_start(program: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!(
                "there is no program `{program}`: give the command as you would in a shell here"
            )
        }
        _ => format!("`{program}` cannot be started: {error}"),
    }
}

/// A process that waits for the end of this one, and then ends `group`: an app that outlives a
/// killed examiner would keep its port.
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
    tokio::spawn(async move {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            output.add(&chunk[..length]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[tokio::test]
    async fn an_app_ends_when_the_examiner_is_killed() {
        let sleep = ["sleep", "60"].map(str::to_owned);
        let mut app = AppProcess::start(&sleep, &[]).unwrap();
        // As the kernel closes it, when this process ends.
        app.guard.as_mut().unwrap().stdin.take();
        let ended = crate::time::within(START_TIMEOUT, app.child.wait()).await;
        assert!(ended.is_some(), "the app goes on");
    }

    #[tokio::test]
    async fn a_restarted_app_keeps_the_output_of_before() {
        let echo = ["sh", "-c", "echo $WORD; exec cat"].map(str::to_owned);
        let word = |word: &str| [("WORD".to_owned(), word.to_owned())];
        let mut app = AppProcess::start(&echo, &word("before")).unwrap();
        until_printed(&app, "before").await;
        app.restart(&echo, &word("after")).await.unwrap();
        until_printed(&app, "before\nafter").await;
    }

    async fn until_printed(app: &AppProcess, text: &str) {
        let watch = Stopwatch::start();
        while !app.output().text().contains(text) {
            assert!(watch.elapsed() < START_TIMEOUT, "{}", app.output().text());
            pause(LOOK_EVERY).await;
        }
    }
}
