//! The program as a process of a test's own.

use std::process::{Command, Stdio};
use std::time::Duration;

use agent::process::{open_files, threads};
use agent::program::{Completed, EndsBy, Program, Signal, output_within};
use agent::time::pause;

/// The flags of the addresses.
pub(crate) const FLAGS: [&str; 5] = ["consumer", "broker", "control", "google", "github"];

/// The threads that the runtime keeps for ten seconds after a blocking call.
const BLOCKING_THREADS: usize = 2;

/// The time in which it starts, or ends.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The running program, with its banner.
pub(crate) struct Running {
    pub(crate) program: Program,
    pub(crate) banner: String,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(stack(&[]), arguments)
    }

    /// Starts it with a limit on its open files.
    pub(crate) fn start_with_descriptors(limit: usize) -> Self {
        let limited = format!("ulimit -n {limit} && exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_stack")]);
        Self::spawn(shell, &[])
    }

    fn spawn(mut command: Command, arguments: &[&str]) -> Self {
        command.arg("--quiet");
        Self::spawn_with_log(command, arguments)
    }

    /// Starts it with its log on standard error.
    pub(crate) fn spawn_with_log(mut command: Command, arguments: &[&str]) -> Self {
        command.args(on_free_ports_but("nothing"));
        // The banner ends with the callbacks of the last project.
        Self::spawn_until(command, arguments, |banner| banner.contains("callbacks"))
    }

    /// Starts it with these flags alone, and reads its banner to the first empty line after
    /// which it is complete.
    pub(crate) fn spawn_until(
        mut command: Command,
        arguments: &[&str],
        is_complete: impl Fn(&str) -> bool,
    ) -> Self {
        command.args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = Program::start(command, EndsBy::Kill).expect("it starts");
        let banner = program.output.find(LIMIT, |text| {
            let mut length = 0;
            text.split_inclusive('\n').find_map(|line| {
                length += line.len();
                let banner = &text[..length];
                (line.trim().is_empty() && is_complete(banner)).then(|| banner.to_owned())
            })
        });
        let banner =
            banner.unwrap_or_else(|text| panic!("no banner: {text}{}", program.errors.text()));
        Self { program, banner }
    }

    /// Waits until it has no more threads and open files than `before`.
    pub(crate) async fn waits_for_usage_of(&self, before: (usize, usize)) {
        for _ in 0..1_500 {
            let (threads, files) = self.usage();
            if threads <= before.0 + BLOCKING_THREADS && files <= before.1 {
                return;
            }
            pause(Duration::from_millis(20)).await;
        }
        panic!("{:?} (threads, files) are left of {before:?}", self.usage());
    }

    /// The numbers of its threads and open files.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let id = self.program.id();
        (threads(id).expect("Linux"), open_files(id).expect("Linux"))
    }

    pub(crate) fn url_of(&self, what: &str) -> String {
        word_after(&self.banner, &format!("  {what}  "))
    }

    /// Sends it a signal, and returns the exit status with which it ends.
    pub(crate) fn ended_by(&mut self, signal: Signal) -> Option<i32> {
        self.program.signal(signal).expect("it runs");
        self.program.ended_within(LIMIT).expect("it ends").code()
    }
}

#[track_caller]
pub(crate) fn word_after(text: &str, what: &str) -> String {
    let (_, rest) = text
        .split_once(what)
        .unwrap_or_else(|| panic!("{what} in {text}"));
    rest.split_whitespace().next().expect("a word").to_owned()
}

pub(crate) fn run(arguments: &[String]) -> Completed {
    let mut command = stack(&[]);
    command.args(arguments).arg("--quiet");
    output_within(command, LIMIT).expect("it runs")
}

pub(crate) fn on_free_ports_but(flag: &str) -> Vec<String> {
    FLAGS
        .iter()
        .filter(|known| **known != flag)
        .map(|known| match *known {
            "consumer" => "--consumer=localhost:0".to_owned(),
            other => format!("--{other}=127.0.0.1:0"),
        })
        .collect()
}

pub(crate) fn stack(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stack"));
    command.args(arguments);
    command
}
