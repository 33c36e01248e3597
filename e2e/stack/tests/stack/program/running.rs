//! The program as a process of a test's own.

use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// The flags of the addresses.
pub(crate) const FLAGS: [&str; 5] = ["consumer", "broker", "control", "google", "github"];

/// The threads that the runtime keeps for ten seconds after a blocking call.
const BLOCKING_THREADS: usize = 2;

/// The running program, with its banner.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) banner: String,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) stderr: ChildStderr,
}

impl Running {
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        Self::spawn(stack(&[]), arguments).await
    }

    /// Starts it with a limit on its open files.
    pub(crate) async fn start_with_descriptors(limit: usize) -> Self {
        let limited = format!("ulimit -n {limit} && exec \"$0\" \"$@\"");
        let mut shell = piped(Command::new("sh"));
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_stack")]);
        Self::spawn(shell, &[]).await
    }

    pub(crate) async fn spawn(mut command: Command, arguments: &[&str]) -> Self {
        command.arg("--quiet");
        Self::spawn_with_log(command, arguments).await
    }

    /// Starts it with its log on standard error.
    pub(crate) async fn spawn_with_log(mut command: Command, arguments: &[&str]) -> Self {
        command.args(on_free_ports_but("nothing"));
        // The banner ends with the callbacks of the last project.
        Self::spawn_until(command, arguments, |banner| banner.contains("callbacks")).await
    }

    /// Starts it with these flags alone, and reads its banner to the first empty line after
    /// which it is complete.
    pub(crate) async fn spawn_until(
        mut command: Command,
        arguments: &[&str],
        is_complete: impl Fn(&str) -> bool,
    ) -> Self {
        let child = command.args(arguments).spawn();
        let mut child = child.expect("it starts");
        let mut running = Self {
            banner: String::new(),
            stdout: BufReader::new(child.stdout.take().expect("its output")),
            stderr: child.stderr.take().expect("its errors"),
            child,
        };
        in_time(running.read_banner(is_complete)).await;
        running
    }

    async fn read_banner(&mut self, is_complete: impl Fn(&str) -> bool) {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).await.expect("text") == 0 {
                let mut message = String::new();
                let _ = self.stderr.read_to_string(&mut message).await;
                panic!("it ended: {message}");
            }
            self.banner.push_str(&line);
            if line.trim().is_empty() && is_complete(&self.banner) {
                return;
            }
        }
    }

    /// Waits until it has no more threads and open files than `before`.
    #[expect(
        clippy::disallowed_methods,
        reason = "its connections and threads end when they do"
    )]
    pub(crate) async fn waits_for_usage_of(&self, before: (usize, usize)) {
        for _ in 0..1_500 {
            let (threads, files) = self.usage();
            if threads <= before.0 + BLOCKING_THREADS && files <= before.1 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{:?} (threads, files) are left of {before:?}", self.usage());
    }

    /// The numbers of its threads and open files.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let id = self.child.id().expect("it runs");
        ["task", "fd"]
            .map(|folder| format!("/proc/{id}/{folder}"))
            .map(|folder| std::fs::read_dir(folder).expect("Linux").count())
            .into()
    }

    pub(crate) fn url_of(&self, what: &str) -> String {
        word_after(&self.banner, &format!("  {what}  "))
    }

    pub(crate) async fn send(&self, signal: &str) {
        let id = self.child.id().expect("it runs");
        let mut shell = Command::new("sh");
        let sent = shell.args(["-c", &format!("kill -s {signal} {id}")]);
        assert!(sent.status().await.expect("a shell").success());
    }
}

#[track_caller]
pub(crate) fn word_after(text: &str, what: &str) -> String {
    let (_, rest) = text
        .split_once(what)
        .unwrap_or_else(|| panic!("{what} in {text}"));
    rest.split_whitespace().next().expect("a word").to_owned()
}

pub(crate) async fn run(arguments: &[String]) -> Output {
    let mut command = stack(&[]);
    let ended = command.args(arguments).arg("--quiet").output();
    in_time(ended).await.expect("it runs")
}

/// Fails if the program neither starts nor ends within a minute.
#[expect(
    clippy::disallowed_methods,
    reason = "it would hang the test, and a process does not live by our clock"
)]
async fn in_time<T>(end: impl Future<Output = T>) -> T {
    let in_time = tokio::time::timeout(Duration::from_secs(60), end).await;
    in_time.expect("it starts, or ends")
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
    let mut command = piped(Command::new(env!("CARGO_BIN_EXE_stack")));
    command.args(arguments);
    command
}

fn piped(mut command: Command) -> Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
