//! The real program, run to its end.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The command line, in an environment with nothing of ours in it.
pub(crate) struct Broker(pub(crate) Command);

impl Broker {
    pub(crate) fn run(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broker"));
        command.args(arguments).env_clear();
        Self(command)
    }

    pub(crate) fn with(command: &str, config: &Path) -> Self {
        Self::run(&[command, "--config", config.to_str().unwrap()])
    }

    /// The same, whose files must not grow over so many KiB.
    pub(crate) fn limited_to_kib(kib: u32, command: &str, config: &Path) -> Self {
        // It counts in halves of a KiB.
        Self::under(&format!("-f {}", kib * 2), command, config)
    }

    /// The same, which may have so many files and connections open.
    pub(crate) fn limited_to_descriptors(most: u32, command: &str, config: &Path) -> Self {
        Self::under(&format!("-n {most}"), command, config)
    }

    /// The same under one of the shell's limits, a soft one: it can be lifted.
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

    pub(crate) fn output(mut self) -> Said {
        let (stdout, stderr) = (Stdio::piped(), Stdio::piped());
        let program = self.0.stdout(stdout).stderr(stderr).spawn().unwrap();
        let _in_time = deadline(program.id());
        let Output {
            status,
            stdout,
            stderr,
        } = program.wait_with_output().unwrap();
        Said {
            code: status.code(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }
}

/// What it said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Checks that it failed in one line that says this.
    #[track_caller]
    pub(crate) fn failed(&self, says: &str) {
        assert_eq!(self.code, Some(1), "{}", self.err);
        assert!(self.err.contains(says), "{}", self.err);
        assert!(self.err.starts_with("broker: "), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        assert!(!self.err.contains("GOCSPX"), "{}", self.err);
    }
}

/// Sends a signal by the shell, which every machine has; a `kill` it may not have.
pub(crate) fn signal(name: &str, process_id: u32) {
    let kill = format!("kill -s {name} {process_id}");
    let sent = Command::new("/bin/sh").args(["-c", &kill]).status();
    assert!(sent.unwrap().success(), "{kill}");
}

/// Ends a program that serves when it should have refused, so that its test fails
/// and does not wait for ever; unless what this returns is dropped in time.
pub(crate) fn deadline(process_id: u32) -> Sender<()> {
    let (in_time, over) = channel();
    std::thread::spawn(move || {
        if over.recv_timeout(Duration::from_secs(30)) == Err(RecvTimeoutError::Timeout) {
            signal("KILL", process_id);
        }
    });
    in_time
}
