//! The broker's program: run to its end, or serving on a port of its own until the test is
//! over; and the log that it writes to standard error.

use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{Completed, EndsBy, Output, Program, Signal, output_within};
use reqwest::Method;
use testkit::backend::Backend;
use testkit::http::{Request, Response};

use crate::test_broker::{
    BASE, Browser, authorization_path, authorize_path, back_path, backend, checked_http,
    session_body,
};

/// Longer than a broker takes to start, to log a line, or to end. One that serves when it
/// should have refused fails its test.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A command line of the program, in an empty environment.
pub(crate) struct BrokerCommand(pub(crate) Command);

impl BrokerCommand {
    pub(crate) fn run(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broker"));
        command.args(arguments).env_clear();
        Self(command)
    }

    pub(crate) fn with(command: &str, config: &Path) -> Self {
        Self::run(&[command, "--config", config.to_str().unwrap()])
    }

    /// One whose files cannot become larger than `kib` KiB.
    pub(crate) fn limited_to_kib(kib: u32, command: &str, config: &Path) -> Self {
        // The shell counts in halves of a KiB.
        Self::under(&format!("-f {}", kib * 2), command, config)
    }

    /// One that can open `max` files and connections.
    pub(crate) fn limited_to_descriptors(max: u32, command: &str, config: &Path) -> Self {
        Self::under(&format!("-n {max}"), command, config)
    }

    /// One under a limit of the shell, a soft one: the program can raise it.
    fn under(limit: &str, command: &str, config: &Path) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", r#"ulimit -S $1; exec "$0" "$2" --config "$3""#])
            .arg(env!("CARGO_BIN_EXE_broker"))
            .args([limit, command])
            .arg(config)
            .env_clear();
        Self(shell)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Runs it until it ends.
    pub(crate) fn output(self) -> CommandOutput {
        let Completed {
            code,
            stdout: out,
            stderr: err,
        } = output_within(self.0, LIMIT).unwrap();
        CommandOutput { code, out, err }
    }
}

/// The exit status of a program, and what it wrote.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CommandOutput {
    /// Asserts that it succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self
    }

    /// Asserts that it failed with one line, which contains `message`.
    #[track_caller]
    pub(crate) fn failed(&self, message: &str) {
        assert_eq!(self.code, Some(1), "{}", self.err);
        assert!(self.err.contains(message), "{}", self.err);
        assert!(self.err.starts_with("broker: "), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(!self.err.contains("GOCSPX"), "{}", self.err);
    }
}

/// A running program. It is killed when this is dropped.
pub(crate) struct BrokerProcess {
    program: Program,
    /// The address at which it listens.
    pub(crate) address: String,
    /// Ada's backend.
    backend: Backend,
}

impl Deref for BrokerProcess {
    type Target = Backend;

    fn deref(&self) -> &Backend {
        &self.backend
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        self.program.stop();
        if !std::thread::panicking() {
            self.log();
        }
    }
}

impl BrokerProcess {
    /// Starts a program whose configuration binds it to port 0.
    pub(crate) fn start(mut command: BrokerCommand) -> Self {
        command.0.stderr(Stdio::piped());
        let program = Program::start(command.0, EndsBy::Kill).unwrap();
        let address = find_in(&program.errors, "its address", address_in);
        Self {
            program,
            backend: backend(checked_http(BASE, &address)),
            address,
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.program.id()
    }

    /// Waits for a line of the log that contains `text`, and returns it.
    #[track_caller]
    pub(crate) fn logged(&self, text: &str) -> String {
        find_in(&self.program.errors, text, |line| {
            line.contains(text).then(|| line.to_owned())
        })
    }

    /// Sends the signal by which service managers stop a program.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.program.signal(signal).unwrap();
    }

    /// Waits until it ends by itself, and returns the exit status; none if it had to be
    /// killed.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.program.ended_within(LIMIT).unwrap().code()
    }

    /// Waits until it ends by itself, and returns its whole log.
    pub(crate) fn log_when_ended(mut self) -> String {
        self.program.ended_within(LIMIT).unwrap();
        self.log()
    }

    /// Kills it, and returns its whole log.
    pub(crate) fn kill(mut self) -> String {
        self.program.stop();
        self.log()
    }

    fn log(&self) -> String {
        lines_of(&self.program.errors.whole(LIMIT).unwrap()).join("\n")
    }

    /// A browser on a page of the consumer.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.http)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.http.get(path).send().await
    }

    /// Requests Ada's login with key `n`.
    pub(crate) async fn session(&self, n: u8) -> Response {
        self.post("/v1/login/session", &session_body(n)).await
    }

    /// Starts Ada's login with key `n`, and returns the path of its URL.
    pub(crate) async fn login(&self, n: u8) -> String {
        authorization_path(&self.session(n).await, BASE)
    }

    /// The request of a browser that returns from GitHub with this query in a legacy login.
    pub(crate) async fn coming_back(&self, query: &str) -> Request {
        let redirect = self.get(&authorize_path()).await;
        assert_eq!(redirect.status, 303, "{redirect:?}");
        let cookie = &redirect.set_cookies()[0];
        let (cookie, _) = cookie.split_once(';').unwrap();
        let back = back_path(&redirect, query);
        self.request(Method::GET, &back).header("Cookie", cookie)
    }
}

/// The address in the line, readable or JSON, that announces that it serves.
fn address_in(line: &str) -> Option<String> {
    let marks = ["Ctrl-C stops address=", "\"address\":\""];
    let (_, address) = marks.iter().find_map(|mark| line.split_once(mark))?;
    Some(address.split('"').next()?.to_owned())
}

/// Waits for a line of a log in which `found` finds something. `name` is for the failure.
#[track_caller]
fn find_in(log: &Output, name: &str, found: impl Fn(&str) -> Option<String>) -> String {
    let line = log.find(LIMIT, |log| {
        lines_of(log).iter().find_map(|line| found(line))
    });
    line.unwrap_or_else(|log| panic!("{name:?} is not in the log:\n{log}"))
}

/// The lines of a log, each with the indented ones below it. None may look as if it held a
/// secret.
#[track_caller]
fn lines_of(log: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in log.lines() {
        assert_eq!(testkit::leak_check::suspicious(line), None, "in {line}");
        match (line.strip_prefix(' '), lines.last_mut()) {
            (Some(more), Some(last)) => {
                last.push(' ');
                last.push_str(more.trim_start());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}
