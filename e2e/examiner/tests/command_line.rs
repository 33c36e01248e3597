//! The program `examine`, from outside: odd apps and bad input.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
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

/// What `examine` is given by a shell, and the parts of its sentence.
const TROUBLE: &str = r#"
$START -- $ODD answers-200 | / has no link and no form to press: give the page on which a visitor chooses to sign in
$START -- $ODD answers-500 | answers with status 500
$START -- $ODD dead-button | 2 links and buttons were pressed | give the app that address as SIGNIN_BASE_URL
$START --no-chromium -- $ODD scripted | sign_in = { google = "POST /login/google" }
$START -- $ODD nested | the page / nests elements more than 512 deep
$START -- $ODD own-login | asks for a password of the app's own
$START --sign-in google=css:#google -- $ODD plain | sign_in.google: css:#google finds nothing on /
$START --whoami /nowhere -- $ODD plain | whoami /nowhere does not show
$START --share-command 'test -d {folder} -a {port} -gt 0' -- $ODD plain | the store of share: the command ended before it listened (exit status: 0)
$START -- env SIGNIN_CLIENT_SECRET=wrong $ODD plain | the app sends a wrong client_secret for the project prj_
$START -- env SIGNIN_CLIENT_ID=unknown $ODD plain | the broker has no project unknown
$START -- sh -c 'printf "\033[2Jno such module" >&2; exit 3' | the command ended before it listened (exit status: 3) | [2Jno such module
$TAKEN -- true | another program listens on port
"#;

#[test]
fn an_app_that_cannot_be_examined_is_named_before_any_verdict() {
    let folder = TempDir::new().unwrap();
    at_once(TROUBLE, |line| {
        let (words, sentence) = line.split_once(" | ").unwrap();
        let run = examine(folder.path(), words);
        sentence.split(" | ").for_each(|it| is_trouble(&run, it));
        assert!(!run.stderr.contains("wrong\u{201D}"), "{}", run.stderr);
    });
}

/// The flags for the app whose page needs a script.
const BY_SCRIPT: &str = "--sign-in 'github=POST /api/login' --whoami /api/me";

/// Odd apps with a verdict each, and what the report says of the app.
const LEARNT: &str = "
plain | callback-replay | PASS | No grade. Everything passes.
slow | binding-required | PASS | only after
scripted | binding-required | PASS |
scripted | authorization-url-checked | FAIL | browser there; given an authorization_url with another port
scripted | sign-out-server | NOT TESTED | way to sign out was found: name it with sign_out
scripted | failure-page | NOT TESTED | is shown by its script
csrf | failure-page | PASS |
csrf | relogin-replaces | NOT APPLICABLE |
failing | callback-replay | PASS | untried POST /login/c answers with status 500: if it signs in
followed | key-not-in-browser | FAIL | untried POST /login with flow=script begins a login at the broker
one-key | key-fresh | FAIL | no further login begins
dropped | cookie-attributes | FAIL | drop the cookie sid (Path=/; HttpOnly; SameSite=None
sorted | callback-replay | PASS | the browser comes back to /auth/back
link | state-bound | PASS | sign-in starts by GET /authorize?
hidden | answer-checked | FAIL | (must, legacy flow)
hidden | callback-replay | PASS | with flow=clean (github, clean flow); POST /login with flow=legacy
in-url | secret-not-in-browser | FAIL | text/html]. The URL contains a client_secret
subject | callback-replay | PASS | whoami / shows who is signed in
sign-out | sign-out-server | PASS | sign_out POST /logout signs out
guestbook | account-by-subject | NOT TESTED | to no other user
guestbook | unverified-email | NOT TESTED | to no other user
dying | callback-head | NOT TESTABLE | first: The app ended in callback-head (exit status: 3). Its last words: no such method
";

#[test]
fn an_odd_app_is_examined_as_far_as_it_can_be() {
    let folder = TempDir::new().unwrap();
    at_once(LEARNT, |line| {
        let parts: Vec<_> = line.split('|').map(str::trim).collect();
        let [kind, id, verdict, words] = parts[..] else {
            panic!("{line}");
        };
        let flags = match kind {
            "scripted" => format!("--no-chromium {BY_SCRIPT}"),
            _ => String::new(),
        };
        let words_given = format!("$START --only {id} {flags} -- $ODD {kind}");
        let run = examine(folder.path(), &words_given);
        has_verdict(&run, id, verdict);
        let text: Vec<_> = run.stdout.split_whitespace().collect();
        assert!(text.join(" ").contains(words), "{words}: {}", run.stdout);
    });
}

#[test]
fn init_writes_what_it_found_and_examine_reads_it() {
    let plain = "-- $ODD plain".to_owned();
    let callback = "callback = [\"http://localhost:";
    let scripted = format!("{BY_SCRIPT} -- $ODD scripted");
    let steps = "whoami   = \"/api/me\"\nsign_in.github = \"POST /api/login\"\n";
    for (app, found) in [(plain, callback), (scripted, steps)] {
        let folder = TempDir::new().unwrap();
        let init = || examine(folder.path(), &format!("init $START {app}"));
        let run = init();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let written = fs::read_to_string(folder.path().join("examine.toml")).unwrap();
        assert!(written.contains(found), "{written}");
        is_trouble(&init(), "examine.toml exists already");
        let run = examine(folder.path(), "--no-chromium --only callback-replay");
        has_verdict(&run, "callback-replay", "PASS");
    }
}

/// Makes a run of each line of a table, four at a time.
fn at_once(table: &str, run: impl Fn(&str) + Sync) {
    let lines: Vec<_> = table.trim().lines().collect();
    for some in lines.chunks(4) {
        thread::scope(|scope| {
            for line in some {
                scope.spawn(|| run(line));
            }
        });
    }
}

/// Lets a shell run `examine` in a folder. In its words, `$ODD` is the program of the odd apps,
/// `$START` a start page at a free port, and `$TAKEN` one at a port that is taken.
fn examine(folder: &Path, words: &str) -> Completed {
    let odd = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/odd/app.py");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = |port| format!("http://localhost:{port}/");
    let mut shell = Command::new("sh");
    shell
        .current_dir(folder)
        .args(["-c", &format!("exec $EXAMINE {words}")])
        .env("EXAMINE", env!("CARGO_BIN_EXE_examine"))
        .env("ODD", format!("python3 {}", odd.display()))
        .env("START", at(free_port()))
        .env("TAKEN", at(taken.local_addr().unwrap().port()));
    output_within(shell, LIMIT).unwrap()
}

/// Asserts one sentence on standard error that contains `text` and does not steer the terminal,
/// and no report.
#[track_caller]
fn is_trouble(run: &Completed, text: &str) {
    assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "there is no report");
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("examine: "), "{last}");
    assert!(last.contains(text), "{text:?} is not in {last}");
    assert!(!last.contains('\u{1b}'), "{last:?}");
}

/// Asserts the verdict of a check in the text report.
#[track_caller]
fn has_verdict(run: &Completed, id: &str, verdict: &str) {
    let is_line = |line: &str| line.starts_with(verdict) && line.contains(id);
    let is_there = run.stdout.lines().any(is_line);
    assert!(is_there, "{id}: {}{}", run.stdout, run.stderr);
}
