//! The program `stack`: its flags, its banner, and its end by a signal.

#[cfg(feature = "clients")]
#[path = "start_up/trust.rs"]
mod trust;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use reqwest::Method;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::Http;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

const FLAGS: [&str; 5] = ["consumer", "broker", "control", "google", "github"];

#[tokio::test]
async fn the_help_lists_every_flag() {
    let help = text(&stack(&["--help"]).output().await.expect("it runs").stdout);
    for flag in FLAGS.iter().chain(&[
        "callback",
        "https",
        "host",
        "ca-file",
        "automatic",
        "control-host",
        "max-sandboxes",
        "health",
        "people",
        "quiet",
    ]) {
        assert!(help.contains(&format!("--{flag}")), "--{flag} in {help}");
    }
    for default in ["localhost:3000", "127.0.0.1:8000", "127.0.0.1:8010"] {
        assert!(help.contains(default), "{default} in {help}");
    }
}

#[tokio::test]
async fn a_taken_address_is_one_line_that_names_it_and_its_flag() {
    for flag in FLAGS {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = taken.local_addr().expect("an address");
        let mut arguments = on_free_ports_but(flag);
        arguments.extend([format!("--{flag}"), address.to_string()]);
        let output = run(&arguments).await;
        assert_eq!(output.status.code(), Some(1), "--{flag}");
        assert_eq!(text(&output.stdout), "");
        let message = text(&output.stderr);
        assert_eq!(message.lines().count(), 1, "{message}");
        for word in [address.to_string(), format!("--{flag}")] {
            assert!(message.contains(&word), "{word} in {message}");
        }
    }
}

#[tokio::test]
async fn an_address_that_others_could_reach_is_refused() {
    for flag in FLAGS {
        let argument = format!("--{flag}=0.0.0.0:0");
        let output = run(&[argument]).await;
        assert_eq!(output.status.code(), Some(2), "--{flag}");
        assert!(text(&output.stderr).contains("loopback"), "--{flag}");
    }
}

#[tokio::test]
async fn a_host_name_needs_https_and_is_a_dns_name() {
    let output = run(&["--host=stack.internal".to_owned()]).await;
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.starts_with("stack: --host needs --https: "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");

    for host in ["127.0.0.1", "stack:8000", "https://stack", ""] {
        let arguments = ["--https".to_owned(), format!("--host={host}")];
        let output = run(&arguments).await;
        assert_eq!(output.status.code(), Some(2), "{host}");
        let message = text(&output.stderr);
        assert!(message.contains("--host"), "{message}");
        assert!(
            message.contains("expected a DNS name without a port"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_ca_file_that_cannot_be_written_is_one_line_that_names_it_and_its_flag() {
    let mut arguments = on_free_ports_but("nothing");
    arguments.extend(["--https".to_owned(), "--ca-file=/nowhere/ca.pem".to_owned()]);
    let output = run(&arguments).await;
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert_eq!(message.lines().count(), 1, "{message}");
    for word in ["/nowhere/ca.pem", "No such file", "--ca-file"] {
        assert!(message.contains(word), "{word} in {message}");
    }
}

#[tokio::test]
async fn the_temporary_ca_file_is_private_and_gone_when_the_program_ends() {
    let mut running = Running::start(&["--https"]).await;
    let ca = PathBuf::from(word_after(&running.banner, "  ca_file  "));
    let folder = ca.parent().expect("a folder").to_owned();
    assert!(
        std::fs::read_to_string(&ca)
            .expect("a file")
            .contains("BEGIN CERTIFICATE")
    );
    let mode = std::fs::metadata(&folder)
        .expect("a folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_ca_file_of_the_users_own_is_written_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("our ca.pem");
    let flag = format!("--ca-file={}", path.display());
    let mut running = Running::start(&["--https", &flag]).await;
    let quoted = format!("'{}'", path.display());
    assert!(running.banner.contains(&quoted), "{}", running.banner);
    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    let pem = std::fs::read_to_string(&path).expect("a file");
    assert!(pem.contains("BEGIN CERTIFICATE"));
    assert!(!pem.contains("PRIVATE KEY"));
}

#[tokio::test]
async fn a_callback_that_the_contract_forbids_is_refused() {
    for callback in [
        "http://app.example/back",
        "https://app.example/back?x=1",
        "back",
    ] {
        let output = run(&[format!("--callback={callback}")]).await;
        assert_eq!(output.status.code(), Some(2), "{callback}");
    }
}

#[tokio::test]
async fn a_people_file_that_cannot_be_used_is_one_line_with_the_flag_and_the_file() {
    for (file, word) in [
        ("/nowhere/people.toml", "No such file"),
        (
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            "unknown field",
        ),
    ] {
        let mut arguments = on_free_ports_but("nothing");
        arguments.extend(["--people".to_owned(), file.to_owned()]);
        let output = run(&arguments).await;
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert_eq!(text(&output.stdout), "");
        let message = text(&output.stderr);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(
            message.starts_with(&format!("stack: --people {file}: ")),
            "{message}"
        );
        assert!(message.contains(word), "{word} in {message}");
    }
}

#[tokio::test]
async fn the_people_of_a_file_are_on_the_sign_in_pages() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/people.toml");
    let running = Running::start(&["--people", sample]).await;
    let callback = format!("{}/callback/github", running.url_of("broker"));
    let page = format!(
        "{}/login/oauth/authorize?client_id=federated-sign-in-kit&redirect_uri={callback}",
        running.url_of("imitated GitHub"),
    );
    let page = Http::new().get(&page).send().await;
    for key in ["ada", "marie", "pierre"] {
        let button = format!(r#"data-person="{key}""#);
        assert!(page.text().contains(&button), "{key} in {}", page.text());
    }
}

#[tokio::test]
async fn ctrl_c_and_sigterm_end_it_with_status_zero() {
    for signal in ["INT", "TERM"] {
        let mut running = Running::start(&[]).await;
        running.send(signal).await;
        let status = running.child.wait().await.expect("it ends");
        assert_eq!(status.code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn its_health_is_good_while_it_runs_and_bad_afterwards() {
    check_health(&[]).await;
    check_health(&["--https"]).await;
}

async fn check_health(arguments: &[&str]) {
    let mut running = Running::start(arguments).await;
    let url = running.url_of("control");
    let (_, control) = url.split_once("://").expect("a URL");
    let health = [format!("--control={control}"), "--health".to_owned()];

    let up = run(&health).await;
    assert_eq!(
        (up.status.code(), text(&up.stdout).as_str()),
        (Some(0), "up\n")
    );

    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    let down = run(&health).await;
    assert_eq!(down.status.code(), Some(1));
    assert_eq!(text(&down.stdout), "");
    let message = text(&down.stderr);
    assert!(
        message.contains(control) && message.contains("--control"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[tokio::test]
async fn another_server_at_the_control_address_is_no_healthy_stack() {
    let running = Running::start(&[]).await;
    let url = running.url_of("imitated GitHub");
    let other = url.strip_prefix("http://").expect("plain HTTP");
    let output = run(&[format!("--control={other}"), "--health".to_owned()]).await;
    assert_eq!(output.status.code(), Some(1));
}

#[tokio::test]
async fn every_address_in_the_banner_answers() {
    let running = Running::start(&[]).await;
    let client = Http::new();
    for what in [
        "demo",
        "broker",
        "control",
        "imitated Google",
        "imitated GitHub",
    ] {
        let url = running.url_of(what);
        let answer = client.get(&url).try_send().await;
        assert!(answer.is_ok(), "{what} at {url}");
    }
}

#[tokio::test]
async fn the_banner_shows_working_credentials_for_a_callback_flag() {
    let callback = "http://localhost:4000/signed/in";
    let running = Running::start(&["--callback", callback]).await;
    let own = running
        .banner
        .split("My app")
        .nth(1)
        .expect("the project of the callback");
    let value = |what: &str| word_after(own, what);
    assert_eq!(value("callbacks"), callback);

    let backend = Backend::new(
        &running.url_of("broker"),
        &value("client_id"),
        &value("client_secret"),
        &value("callbacks"),
    );
    backend.start_login("google").await;
}

#[tokio::test]
async fn nothing_but_the_banner_is_printed_not_even_during_resets() {
    let mut running = Running::start(&[]).await;
    let (broker, control) = (running.url_of("broker"), running.url_of("control"));
    let client = Http::new();
    // Visits to the broker before, during and after its resets.
    let visits = async {
        for _ in 0..400 {
            let visit = client.get(format!("{broker}/callback/google?code=secret"));
            let _ = visit.try_send().await;
        }
    };
    let resets = async {
        for _ in 0..40 {
            let reset = client.post(format!("{control}/api/reset")).send().await;
            assert_eq!(reset.status, 204);
        }
    };
    tokio::join!(visits, resets);
    running.send("TERM").await;
    let mut printed = String::new();
    let _ = running.stdout.read_to_string(&mut printed).await;
    let _ = running.stderr.read_to_string(&mut printed).await;
    assert_eq!(printed.trim(), "");
}

#[tokio::test]
async fn sandboxes_leave_no_thread_and_no_descriptor_behind() {
    let running = Running::start(&[]).await;
    let control = Http::at(running.url_of("control"));
    make_and_end(&control, 3).await;
    let before = running.usage();
    make_and_end(&control, 12).await;
    running.waits_for_usage_of(before).await;
}

#[tokio::test]
async fn a_sandbox_that_finds_no_room_is_refused_and_leaves_nothing() {
    let running = Running::start_with_descriptors(160).await;
    let control = Http::at(running.url_of("control"));
    make_and_end(&control, 1).await;
    let before = running.usage();
    let mut made = Vec::new();
    let refused = loop {
        let response = control.post("/api/sandboxes").send().await;
        match response.status {
            201 => made.push(response.json()),
            _ => break response,
        }
        assert!(made.len() < 60, "a sandbox needs descriptors");
    };
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("ulimit -n"), "{}", refused.text());
    assert!(
        !made.is_empty(),
        "a stack and a sandbox need fewer than 160"
    );
    for sandbox in made {
        end_sandbox(&control, &sandbox).await;
    }
    running.waits_for_usage_of(before).await;
    make_and_end(&control, 1).await;
}

/// Makes sandboxes one after the other, each with a demo and a started login.
async fn make_and_end(control: &Http, number: usize) {
    for _ in 0..number {
        let body = serde_json::json!({ "consumer": true, "mode": "interactive" });
        let sandbox = control.post("/api/sandboxes").json(&body).send().await;
        assert_eq!(sandbox.status, 201, "{}", sandbox.text());
        let sandbox = sandbox.json();
        let broker = sandbox["broker"].as_str().expect("a URL");
        let backend = Backend::of(broker, &sandbox["projects"][0]);
        let login = backend.start_login("google").await;
        // The browser stays at the provider, with its connections open.
        let google = sandbox["upstreams"]["google"].as_str().expect("a URL");
        let demo = sandbox["consumer"].as_str().expect("a URL");
        let browser = Browser::new().on_page(demo);
        let end = browser.follow(&login.authorization_url).await;
        assert!(end.url.starts_with(google), "{}", end.url);
        end_sandbox(control, &sandbox).await;
    }
}

async fn end_sandbox(control: &Http, sandbox: &serde_json::Value) {
    let path = format!("/api/sandboxes/{}", sandbox["id"].as_str().expect("an id"));
    let ended = control.request(Method::DELETE, path).send().await;
    assert_eq!(ended.status, 204, "{}", ended.text());
}

/// The threads that the runtime keeps for ten seconds after a blocking call.
const BLOCKING_THREADS: usize = 2;

/// The running program, with its banner.
struct Running {
    child: Child,
    banner: String,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
}

impl Running {
    async fn start(arguments: &[&str]) -> Self {
        Self::spawn(stack(&[]), arguments).await
    }

    /// Starts it with a limit on its open files.
    async fn start_with_descriptors(limit: usize) -> Self {
        let limited = format!("ulimit -n {limit} && exec \"$0\" \"$@\"");
        let mut shell = piped(Command::new("sh"));
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_stack")]);
        Self::spawn(shell, &[]).await
    }

    async fn spawn(mut command: Command, arguments: &[&str]) -> Self {
        let child = command
            .args(on_free_ports_but("nothing"))
            .args(arguments)
            .arg("--quiet")
            .spawn();
        let mut child = child.expect("it starts");
        let mut running = Self {
            banner: String::new(),
            stdout: BufReader::new(child.stdout.take().expect("its output")),
            stderr: child.stderr.take().expect("its errors"),
            child,
        };
        in_time(running.read_banner()).await;
        running
    }

    async fn read_banner(&mut self) {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).await.expect("text") == 0 {
                let mut message = String::new();
                let _ = self.stderr.read_to_string(&mut message).await;
                panic!("it ended: {message}");
            }
            self.banner.push_str(&line);
            // The banner ends with the callbacks of the last project.
            if line.trim().is_empty() && self.banner.contains("callbacks") {
                return;
            }
        }
    }

    /// Waits until it has no more threads and open files than `before`.
    #[expect(
        clippy::disallowed_methods,
        reason = "its connections and threads end when they do"
    )]
    async fn waits_for_usage_of(&self, before: (usize, usize)) {
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
    fn usage(&self) -> (usize, usize) {
        let id = self.child.id().expect("it runs");
        ["task", "fd"]
            .map(|folder| format!("/proc/{id}/{folder}"))
            .map(|folder| std::fs::read_dir(folder).expect("Linux").count())
            .into()
    }

    fn url_of(&self, what: &str) -> String {
        word_after(&self.banner, &format!("  {what}  "))
    }

    async fn send(&self, signal: &str) {
        let id = self.child.id().expect("it runs");
        let mut shell = Command::new("sh");
        let sent = shell.args(["-c", &format!("kill -s {signal} {id}")]);
        assert!(sent.status().await.expect("a shell").success());
    }
}

#[track_caller]
fn word_after(text: &str, what: &str) -> String {
    let (_, rest) = text
        .split_once(what)
        .unwrap_or_else(|| panic!("{what} in {text}"));
    rest.split_whitespace().next().expect("a word").to_owned()
}

async fn run(arguments: &[String]) -> Output {
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

fn on_free_ports_but(flag: &str) -> Vec<String> {
    FLAGS
        .iter()
        .filter(|known| **known != flag)
        .map(|known| match *known {
            "consumer" => "--consumer=localhost:0".to_owned(),
            other => format!("--{other}=127.0.0.1:0"),
        })
        .collect()
}

fn stack(arguments: &[&str]) -> Command {
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
