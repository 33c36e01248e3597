//! The broker's program: run to its end, or serving on a port of its own until the test is
//! over; and the log that it writes to standard error.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;
use testkit::http::{Http, Request, Response};

use crate::test_broker::{
    BASE, Browser, authorization_path, authorize_path, back_path, checked_http, session_body,
};

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
fn signal(name: &str, process_id: u32) {
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

/// A running program. It is killed when this is dropped.
pub(crate) struct BrokerProcess {
    process: Child,
    address: String,
    log: Log,
    http: Http,
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if !std::thread::panicking() {
            self.log.rest();
        }
    }
}

impl BrokerProcess {
    /// Starts a program whose configuration binds it to port 0.
    pub(crate) fn start(mut command: BrokerCommand) -> Self {
        let mut process = command.0.stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(&mut process);
        let address = log.find("its address", address_in);
        Self {
            process,
            http: checked_http(BASE, &address),
            address,
            log,
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for a line of the log that contains `text`, and returns it.
    #[track_caller]
    pub(crate) fn logged(&self, text: &str) -> String {
        self.log
            .find(text, |line| line.contains(text).then(|| line.to_owned()))
    }

    /// The address at which it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends the signal by which service managers stop a program.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.process_id());
    }

    /// Waits until it ends by itself, and returns the exit status; none if it had to be
    /// killed.
    pub(crate) fn ended(mut self) -> Option<i32> {
        let _in_time = deadline(self.process_id());
        self.process.wait().unwrap().code()
    }

    /// Waits until it ends by itself, and returns its whole log.
    pub(crate) fn log_when_ended(mut self) -> String {
        let _in_time = deadline(self.process_id());
        self.process.wait().unwrap();
        self.log.rest()
    }

    /// Kills it, and returns its whole log.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.log.rest()
    }

    /// A browser on a page of the consumer.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.http)
    }

    /// A client of this broker.
    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.http.get(path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.http.post(path).json(body).send().await
    }

    /// Requests Ada's login with key `n`.
    pub(crate) async fn session(&self, n: u8) -> Response {
        self.post("/v1/login/session", &session_body(n)).await
    }

    /// Starts Ada's login with key `n`, and returns the path of its URL.
    pub(crate) async fn login(&self, n: u8) -> String {
        authorization_path(&self.session(n).await, BASE)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> Request {
        self.http.request(method, path)
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

/// The log of a program. No line of it may look as if it held a secret.
struct Log {
    incoming: Receiver<String>,
    read: RefCell<Vec<String>>,
}

impl Log {
    fn of(process: &mut Child) -> Self {
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (sender, incoming) = channel();
        std::thread::spawn(move || {
            let lines = stderr.lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Self {
            incoming,
            read: RefCell::default(),
        }
    }

    /// Waits 20 seconds for a line in which `found` finds something. `name` is for the
    /// failure.
    #[track_caller]
    #[expect(
        clippy::disallowed_methods,
        reason = "a broker that only logs other lines is to fail its test"
    )]
    fn find(&self, name: &str, found: impl Fn(&str) -> Option<String>) -> String {
        let mut read = self.read.borrow_mut();
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(it) = read.iter().find_map(|line| found(line)) {
                return it;
            }
            match self
                .incoming
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(line) => append(&mut read, line),
                Err(_) => panic!("{name:?} is not in the log:\n{}", read.join("\n")),
            }
        }
    }

    /// The whole log of a program that has ended.
    fn rest(&self) -> String {
        let mut read = self.read.borrow_mut();
        self.incoming
            .iter()
            .for_each(|line| append(&mut read, line));
        read.join("\n")
    }
}

/// Appends a line, or what an indented one adds to the line before.
#[track_caller]
fn append(read: &mut Vec<String>, line: String) {
    let line = without_secrets(line);
    match (line.strip_prefix(' '), read.last_mut()) {
        (Some(more), Some(last)) => {
            last.push(' ');
            last.push_str(more.trim_start());
        }
        _ => read.push(line),
    }
}

/// Asserts that nothing in `line` looks like a secret, and returns it.
#[track_caller]
fn without_secrets(line: String) -> String {
    assert_eq!(testkit::leak_check::suspicious(&line), None, "in {line}");
    line
}
