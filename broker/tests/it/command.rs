//! The broker's program, run to its end.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

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
    pub(crate) fn output(mut self) -> CommandOutput {
        let (stdout, stderr) = (Stdio::piped(), Stdio::piped());
        let program = self.0.stdout(stdout).stderr(stderr).spawn().unwrap();
        let _in_time = deadline(program.id());
        let Output {
            status,
            stdout,
            stderr,
        } = program.wait_with_output().unwrap();
        CommandOutput {
            code: status.code(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }
}

/// The exit status of a program, and what it wrote.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CommandOutput {
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

/// Sends a signal through the shell: not every machine has a `kill` program.
pub(crate) fn signal(name: &str, process_id: u32) {
    let kill = format!("kill -s {name} {process_id}");
    let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
    assert!(sent.unwrap().success(), "{kill}");
}

/// Kills a program after 30 seconds unless the return value is dropped before, so that
/// one that serves when it should have refused fails its test.
pub(crate) fn deadline(process_id: u32) -> Sender<()> {
    let (in_time, timeout) = channel();
    std::thread::spawn(move || {
        if timeout.recv_timeout(Duration::from_secs(30)) == Err(RecvTimeoutError::Timeout) {
            signal("KILL", process_id);
        }
    });
    in_time
}
