//! The program `examine`, from outside: odd apps and bad input.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agent::program::{Completed, output_within};
use tempfile::TempDir;
use testkit::server::free_port;

/// No run takes this long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// What needs no app is in `tests/command_line/`, one file a case.
#[test]
fn bad_input_is_refused_in_one_sentence_with_the_way_out() {
    trycmd::TestCases::new()
        .register_bin("examine", Path::new(env!("CARGO_BIN_EXE_examine")))
        .case("tests/command_line/*.trycmd");
}

/// Makes the runs, four at a time, and checks each.
fn check_all<T: Sync>(rows: &[(Examine, T)], check: impl Fn(&Run, &T) + Sync) {
    for some in rows.chunks(4) {
        thread::scope(|scope| {
            for (examine, expected) in some {
                scope.spawn(|| check(&examine.run(), expected));
            }
        });
    }
}

/// Odd apps with the flags of their runs, and the parts of the sentence.
const TROUBLE: &str = r#"
answers-200 | / has no link and no form to press: give the page on which a visitor chooses to sign in
answers-500 | answers with status 500
dead-button | 2 links and buttons were pressed | give the app that address as SIGNIN_BASE_URL
scripted --no-chromium | sign_in = { google = "POST /login/google" }
nested | the page / nests elements more than 512 deep
own-login | asks for a password of the app's own
plain --sign-in google=css:#google | sign_in.google: css:#google finds nothing on /
plain --whoami /nowhere | whoami /nowhere does not show
"#;

#[test]
fn an_app_that_cannot_be_examined_is_named_before_any_verdict() {
    let plain = |setting: &str| Examine::shell(&format!("{setting} exec {}", odd_app("plain")));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at_taken = format!("http://localhost:{}/", taken.local_addr().unwrap().port());
    let mut rows = vec![
        (
            plain("SIGNIN_CLIENT_SECRET=wrong"),
            "the app sends a wrong client_secret for the project prj_",
        ),
        (
            plain("SIGNIN_CLIENT_ID=unknown"),
            "the broker has no project unknown",
        ),
        (
            Examine::shell("echo no such module >&2; exit 3"),
            "the command ended before it listened (exit status: 3) | no such module",
        ),
        (
            Examine::nothing().flags(&[&at_taken, "--", "true"]),
            "another program listens on port",
        ),
    ];
    rows.extend(TROUBLE.trim().lines().map(|line| {
        let (app, words) = line.split_once(" | ").unwrap();
        let mut flags = app.split(' ');
        let app = Examine::odd(flags.next().unwrap());
        (app.flags(&flags.collect::<Vec<_>>()), words)
    }));
    check_all(&rows, |run, words| {
        words.split(" | ").for_each(|words| run.is_trouble(words));
        assert!(!run.stderr.contains("wrong\u{201D}"), "{}", run.stderr);
    });
}

/// The request of the script of the app whose page needs one.
const BY_SCRIPT: [&str; 4] = ["--sign-in", "github=POST /api/login", "--whoami", "/api/me"];

/// Odd apps with a verdict each, and what the report says of the app.
const LEARNT: &str = "
plain | callback-replay | PASS | No grade. Everything passes.
slow | binding-required | PASS | only after
scripted | binding-required | PASS |
scripted | authorization-url-checked | FAIL | browser there; given an authorization_url with another port
scripted | failure-page | NOT TESTED | is shown by its script
csrf | failure-page | PASS |
csrf | relogin-replaces | NOT APPLICABLE |
failing | callback-replay | PASS | untried POST /login/c answers with status 500: if it signs in
followed | key-not-in-browser | FAIL | untried POST /login with flow=script begins a login at the broker
one-key | key-fresh | FAIL | no further login begins
dropped | cookie-attributes | FAIL | drop the cookie sid (Path=/; HttpOnly; SameSite=None
sorted | callback-replay | PASS | the browser comes back to /auth/back
link | state-bound | PASS | sign-in starts by GET /authorize?
hidden | callback-replay | PASS | with flow=clean (github, clean flow); POST /login with flow=legacy
in-url | secret-not-in-browser | FAIL | 400 Bad Request
subject | callback-replay | PASS | whoami / shows who is signed in
sign-out | sign-out-server | PASS | sign_out POST /logout signs out
dying | callback-head | NOT TESTABLE | first: The app ended in callback-head (exit status: 3). Its last words: no such method
";

#[test]
fn an_odd_app_is_examined_as_far_as_it_can_be() {
    let rows = LEARNT.trim().lines().map(|line| {
        let parts: Vec<_> = line.split('|').map(str::trim).collect();
        let [kind, id, verdict, words] = parts[..] else {
            panic!("{line}");
        };
        let app = match kind {
            "scripted" => Examine::odd(kind)
                .flags(&BY_SCRIPT)
                .flags(&["--no-chromium"]),
            _ => Examine::odd(kind),
        };
        (app.only(id), (id, verdict, words))
    });
    check_all(&rows.collect::<Vec<_>>(), |run, (id, verdict, words)| {
        run.has_verdict(id, verdict);
        let text: Vec<_> = run.stdout.split_whitespace().collect();
        assert!(text.join(" ").contains(words), "{words}: {}", run.stdout);
    });
}

#[test]
fn init_writes_what_it_found_and_examine_reads_it() {
    let init = Examine::odd("plain").init();
    let run = init.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let written = init.read("examine.toml");
    let callback = "callback = [\"http://localhost:";
    assert!(written.contains(callback), "{written}");
    let again = init.run();
    again.is_trouble("examine.toml exists already");
    let examined = init.examine_by_file("callback-replay").run();
    examined.has_verdict("callback-replay", "PASS");
}

#[test]
fn init_takes_the_steps_of_a_page_with_scripts() {
    let init = Examine::odd("scripted").flags(&BY_SCRIPT).init();
    let run = init.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let written = init.read("examine.toml");
    for line in [
        "sign_in.github = \"POST /api/login\"",
        "whoami   = \"/api/me\"",
    ] {
        assert!(written.contains(line), "{written}");
    }
}

/// A run to come.
#[derive(Clone)]
struct Examine {
    folder: Arc<TempDir>,
    arguments: Vec<String>,
    /// The command of the app, after `--`.
    command: Vec<String>,
}

/// The status of a run, and its output.
struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// The command of an odd app, for a shell.
fn odd_app(kind: &str) -> String {
    format!("python3 {} {kind}", odd_script().display())
}

fn odd_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/odd/app.py")
}

impl Examine {
    /// Without any argument.
    fn nothing() -> Self {
        Self {
            folder: Arc::new(TempDir::new().unwrap()),
            arguments: Vec::new(),
            command: Vec::new(),
        }
    }

    /// An odd app on a free port.
    fn odd(kind: &str) -> Self {
        let script = odd_script().display().to_string();
        Self::command(["python3".to_owned(), script, kind.to_owned()].to_vec())
    }

    /// An app that a shell starts, on a free port.
    fn shell(line: &str) -> Self {
        Self::command(["sh", "-c", line].map(str::to_owned).to_vec())
    }

    fn command(command: Vec<String>) -> Self {
        let start = format!("http://localhost:{}/", free_port());
        Self {
            arguments: vec![start],
            command,
            ..Self::nothing()
        }
    }

    fn flags(mut self, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|&flag| flag.to_owned());
        self.arguments.extend(flags);
        self
    }

    /// One check alone.
    fn only(self, id: &str) -> Self {
        self.flags(&["--only", id])
    }

    /// `examine init` for the same app.
    fn init(mut self) -> Self {
        self.arguments.insert(0, "init".to_owned());
        self
    }

    /// `examine` in the folder of an `examine init`, by the file that it wrote.
    fn examine_by_file(&self, id: &str) -> Self {
        let here = Self {
            folder: self.folder.clone(),
            ..Self::nothing()
        };
        here.only(id)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join(file)).unwrap()
    }

    fn run(&self) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_examine"));
        command
            .current_dir(self.folder.path())
            .args(&self.arguments);
        if !self.command.is_empty() {
            command.arg("--").args(&self.command);
        }
        let Completed {
            code: status,
            stdout,
            stderr,
        } = output_within(command, LIMIT).unwrap();
        Run {
            status,
            stdout,
            stderr,
        }
    }
}

impl Run {
    /// Asserts one sentence on standard error that contains `text`, and no report.
    fn is_trouble(&self, text: &str) {
        assert_eq!(self.status, Some(2), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "there is no report");
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("examine: "), "{last}");
        assert!(last.contains(text), "{text:?} is not in {last}");
    }

    /// Asserts the verdict of a check in the text report.
    fn has_verdict(&self, id: &str, verdict: &str) {
        let is_line = |line: &&str| line.starts_with(verdict) && line.contains(id);
        let is_there = self.stdout.lines().any(|line| is_line(&line));
        assert!(is_there, "{id}: {}{}", self.stdout, self.stderr);
    }
}
