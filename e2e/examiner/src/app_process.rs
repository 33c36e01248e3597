//! The app as a process that the examiner starts, with its settings in the environment,
//! its output kept, and its whole process group ended at the end.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, NotListening, Output, Program};

pub(crate) use agent::program::Printed;

/// The time that an app has to answer its first request.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running app.
#[derive(Debug)]
pub(crate) struct AppProcess(Program);

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
        Self::start_after(&Output::default(), command, environment)
    }

    /// Ends the app and starts another, whose output follows.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub(crate) fn restart(
        &mut self,
        command: &[String],
        environment: &[(String, String)],
    ) -> Result<(), String> {
        self.stop();
        *self = Self::start_after(&self.0.output, command, environment)?;
        Ok(())
    }

    fn start_after(
        output: &Output,
        command: &[String],
        environment: &[(String, String)],
    ) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            // Into a pipe, Python prints in blocks, the last of which an end would lose.
            .env("PYTHONUNBUFFERED", "1")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Program::start_after(output, command, EndsBy::KillOfGroup);
        let started = started.map_err(|error| cannot_start(program, &error))?;
        Ok(Self(started))
    }

    /// Waits until something listens at `port` of this machine.
    ///
    /// # Errors
    ///
    /// If the command ends before, or never listens.
    pub(crate) async fn listens_at(&mut self, host: &str, port: u16) -> Result<(), String> {
        let listens = self.0.listens_at(host, port, START_TIMEOUT).await;
        listens.map_err(|error| {
            let reason = match error {
                NotListening::Ended(status) => format!(
                    "the command ended before it listened ({status}): start it by hand and mend what it says."
                ),
                NotListening::Late => format!(
                    "the command runs, but nothing listens on port {port} after {} s: let the app take its port from \
                     PORT, or from the start page's address.",
                    START_TIMEOUT.as_secs()
                ),
            };
            format!("{reason}{}", self.last_lines())
        })
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
        self.0.output.printed()
    }

    /// Ends the app and everything that it has started, and waits for its end.
    pub(crate) fn stop(&mut self) {
        self.0.stop();
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
