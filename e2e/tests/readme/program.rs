//! A backend of the README as a process, in front of a stack of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use stack::{Stack, StackSettings};
use testkit::browser::{Browser, UNSERVED};
use testkit::http::Http;
use testkit::server::free_port;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The language of a backend.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    Python,
    JavaScript,
    Rust,
}

/// The capacity of each backend.
pub(crate) const MAX_SESSIONS: usize = 3;

impl Language {
    pub(crate) const ALL: [Self; 3] = [Self::Python, Self::JavaScript, Self::Rust];

    fn command(self) -> Command {
        let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let (program, file) = match self {
            Self::Python => (
                top.join("target/consumers/python/bin/python"),
                Some("python/minimal.py"),
            ),
            Self::JavaScript => ("node".into(), Some("node/minimal.mjs")),
            Self::Rust => (built_example("minimal"), None),
        };
        let mut command = Command::new(program);
        command.args(file.map(|file| top.join("e2e/consumers").join(file)));
        command
    }
}

/// An example of this crate, beside the folder of its tests.
fn built_example(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let folder = this.parent().and_then(|deps| deps.parent()).unwrap();
    folder.join("examples").join(name)
}

/// A running backend, its stack, and a user's browser.
pub(crate) struct RunningBackend {
    pub(crate) stack: Stack,
    /// The address of its pages.
    pub(crate) here: String,
    pub(crate) browser: Browser,
    /// Ends with this value.
    _process: Child,
}

impl RunningBackend {
    pub(crate) async fn start(language: Language) -> Self {
        let stack = Stack::start(StackSettings::for_tests()).await.unwrap();
        let port = free_port();
        let here = format!("http://localhost:{port}");
        let callback = format!("{here}/callback");
        let project = json!({ "name": "A small app", "redirect_uris": [callback] });
        let control = Http::at(&stack.urls().control);
        let project = control.post("/api/projects").json(&project).send().await;
        let project = project.json();
        let mut process = language.command();
        let process = process
            .env("SIGNIN_BASE_URL", &stack.urls().broker)
            .env("SIGNIN_CLIENT_ID", project["client_id"].as_str().unwrap())
            .env(
                "SIGNIN_CLIENT_SECRET",
                project["client_secret"].as_str().unwrap(),
            )
            .env("CONSUMER_BASE_URL", &here)
            .env("PORT", port.to_string())
            .env("MAX_SESSIONS", MAX_SESSIONS.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let started = process.unwrap_or_else(|error| {
            panic!("{language:?}: `just test-examples` prepares it: {error}")
        });
        wait_for(port, language).await;
        Self {
            stack,
            browser: Browser::new().on_page(&format!("{here}/")),
            here,
            _process: started,
        }
    }

    /// Presses the button, and returns the page on which the browser ends.
    pub(crate) async fn sign_in(&self, provider: &str) -> String {
        let button = format!("{}/login/{provider}", self.here);
        let page = format!("{}/", self.here);
        let end = self.browser.press_until(&page, &button, UNSERVED).await;
        text(end.response.unwrap().body)
    }

    /// Presses the button in another browser, up to the callback, and returns the browser.
    pub(crate) async fn start_elsewhere(&self) -> Browser {
        let page = format!("{}/", self.here);
        let browser = Browser::new().on_page(&page);
        let (button, callback) = (format!("{page}login/google"), format!("{page}callback"));
        browser.press_until(&page, &button, &callback).await;
        browser
    }

    /// Opens a page of the backend in `browser`: the status and the page.
    pub(crate) async fn open(&self, browser: &Browser, path: &str) -> (u16, String) {
        let response = browser.open(&format!("{}{path}", self.here)).await;
        (response.status, text(response.body))
    }

    /// Whether the backend received the answer, for each read of a result.
    pub(crate) async fn reads(&self) -> Vec<bool> {
        let mut reads = Vec::new();
        for login in self.stack.event_log().logins(10) {
            let calls = self.stack.login_status(&login).await.unwrap().calls;
            let is_read = |operation: &str| operation == "POST /v1/login/result";
            let calls = calls.into_iter().filter(|call| is_read(&call.operation));
            reads.extend(calls.map(|call| call.is_received));
        }
        reads
    }
}

fn text(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap()
}

/// Waits until the process listens.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing else tells when another process listens"
)]
async fn wait_for(port: u16, language: Language) {
    for _ in 0..1_500 {
        if TcpStream::connect(("localhost", port)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{language:?}: it does not listen");
}
