//! The app as a process that the examiner starts, with its settings in the environment,
//! its output kept, and its whole process group ended at the end; and the log files of an app,
//! from the point at which its examination began.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, NotListening, Output, Program, Signal};
use tokio::net::TcpStream;

pub(crate) use agent::program::Printed;

use crate::time::{Stopwatch, pause, within};

/// The time that an app has to answer its first request.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The time that an app has to end by itself.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which a restart is given up.
const RESTART_TIMEOUT: Duration = Duration::from_secs(5);

/// A running app. Its environment has the client secret.
pub(crate) struct AppProcess {
    program: Program,
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// The host and the port at which it is to listen.
    host: String,
    port: u16,
}

impl AppProcess {
    /// Starts `command`, which is to listen at `port` of `host`, with `environment` beside its
    /// own.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub(crate) fn start(
        command: &[String],
        environment: Vec<(String, String)>,
        (host, port): (&str, u16),
    ) -> Result<Self, String> {
        Ok(Self {
            program: start_after(&Output::default(), command, &environment)?,
            command: command.to_vec(),
            environment,
            host: host.to_owned(),
            port,
        })
    }

    /// Ends the app, as a crash would, if it still runs, and starts another, whose output
    /// follows.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or does not listen again.
    pub(crate) async fn restart(&mut self) -> Result<(), String> {
        let watch = Stopwatch::start();
        loop {
            self.stop();
            Program::is_silent_at(&self.host, self.port, RESTART_TIMEOUT).await;
            let output = &self.program.output;
            self.program = start_after(output, &self.command, &self.environment)?;
            let listens = self.listens().await;
            // The port may still be taken by the connections of the one before.
            if listens.is_ok() || watch.elapsed() > RESTART_TIMEOUT {
                return listens;
            }
            pause(Duration::from_millis(200)).await;
        }
    }

    /// Asks the app to end, as a deployment does, and ends it if it does not.
    pub(crate) async fn end_gently(&mut self) {
        // A signal to a process that has been seen to end may reach another.
        if matches!(self.program.status(), Ok(None)) && self.program.signal(Signal::TERM).is_ok() {
            within(END_TIMEOUT, self.program.ended()).await;
        }
        self.stop();
    }

    /// Waits until something listens at its port.
    ///
    /// # Errors
    ///
    /// If the command ends before, or never listens.
    pub(crate) async fn listens(&mut self) -> Result<(), String> {
        let port = self.port;
        let listens = self.program.listens_at(&self.host, port, START_TIMEOUT);
        listens.await.map_err(|error| {
            let reason = match error {
                NotListening::Ended(status) => format!(
                    "the command ended before it listened ({status}): start it by hand and mend what it says."
                ),
                NotListening::Late => format!(
                    "the command runs, but nothing listens on port {port} after {} s: let it take its port from PORT, \
                     or from the start page's address.",
                    START_TIMEOUT.as_secs()
                ),
            };
            format!("{reason}{}", self.last_lines())
        })
    }

    /// The status and the last words of an app that has ended by itself; `None` while something
    /// listens.
    pub(crate) async fn end(&mut self) -> Option<String> {
        let status = self.program.status().ok()??;
        // A command may leave the app behind, in the background.
        let connected = TcpStream::connect((self.host.as_str(), self.port)).await;
        let ended = || format!("({status}).{}", self.last_lines());
        connected.is_err().then(ended)
    }

    /// The end of the output, masked.
    fn last_lines(&self) -> String {
        let output = self.output().text();
        let lines = output.lines().rev().filter(|it| !it.trim().is_empty());
        let mut lines: Vec<_> = lines.take(3).map(stack::mask::scrub).collect();
        lines.reverse();
        match lines.is_empty() {
            true => " It printed nothing.".to_owned(),
            false => format!(" Its last words: {}", lines.join(" / ")),
        }
    }

    /// The latest output of the app, also of the runs before this one.
    pub(crate) fn output(&self) -> Printed {
        self.program.output.printed()
    }

    /// Ends the app and everything that it has started, and waits for its end.
    pub(crate) fn stop(&mut self) {
        self.program.stop();
    }
}

fn start_after(
    output: &Output,
    command: &[String],
    environment: &[(String, String)],
) -> Result<Program, String> {
    let (program, arguments) = command.split_first().ok_or("the command is empty")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        // Into a pipe, Python prints in blocks, the last of which an end would lose.
        .env("PYTHONUNBUFFERED", "1")
        // Of two with one name the later counts.
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = Program::start_after(output, command, EndsBy::KillOfGroup);
    started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no program `{program}`: give the command as you would in a shell here"
        ),
        _ => format!("`{program}` cannot be started: {error}"),
    })
}

/// The part of a log that is read: its end, for the logins of a check are there.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A log file, to which the app appends.
#[derive(Debug, Clone)]
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    /// The length that it had before.
    start: u64,
}

impl LogFile {
    /// The log at `path`, from its present end on. It may appear later.
    pub(crate) fn from_now(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            start: std::fs::metadata(path).map_or(0, |it| it.len()),
        }
    }

    /// The last 8 MiB of what was appended since; of a file that became shorter, of all.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(crate) fn appended(&self) -> io::Result<String> {
        let mut file = std::fs::File::open(&self.path)?;
        let length = file.metadata()?.len();
        let start = if length < self.start { 0 } else { self.start };
        let start = start.max(length.saturating_sub(MAX_BYTES));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length - start).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_what_an_app_appends_is_read_and_of_much_the_end() {
        let nowhere = LogFile::from_now(Path::new("/nowhere/app.log"));
        assert!(nowhere.appended().is_err());
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "before").unwrap();
        let log = LogFile::from_now(file.path());
        assert_eq!(log.appended().unwrap(), "");
        writeln!(file, "after").unwrap();
        assert_eq!(log.appended().unwrap(), "after\n");
        file.as_file().set_len(2).unwrap();
        assert_eq!(log.appended().unwrap(), "be");
        file.as_file().set_len(MAX_BYTES).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        write!(file, "the last login").unwrap();
        let appended = log.appended().unwrap();
        assert_eq!(appended.len() as u64, MAX_BYTES);
        assert!(appended.ends_with("the last login"));
    }
}
