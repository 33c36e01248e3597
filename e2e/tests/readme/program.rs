//! A backend of the README as a process, in front of a stack of its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::control::Control;
use agent::program::{EndsBy, Program};
use stack::{Stack, StackSettings};
use testkit::browser::{Browser, UNSERVED};
use testkit::server::free_port;

/// The language of a backend.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    Python,
    JavaScript,
    Rust,
}

/// The capacity of each backend.
pub(crate) const MAX_SESSIONS: usize = 3;

/// The time in which a backend listens.
const START_TIMEOUT: Duration = Duration::from_secs(30);

impl Language {
    pub(crate) const ALL: [Self; 3] = [Self::Python, Self::JavaScript, Self::Rust];

    pub(crate) fn command(self) -> Command {
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
    _process: Program,
}

impl RunningBackend {
    pub(crate) async fn start(language: Language) -> Self {
        let stack = Stack::start(StackSettings::for_tests()).await.unwrap();
        let port = free_port();
        let here = format!("http://localhost:{port}");
        let callback = format!("{here}/callback");
        let control = Control::at(&stack.urls().control).unwrap();
        let project = control.register("A small app", &[callback]).await.unwrap();
        let mut command = language.command();
        command
            .env("SIGNIN_BASE_URL", &stack.urls().broker)
            .env("SIGNIN_CLIENT_ID", project.client_id)
            .env("SIGNIN_CLIENT_SECRET", project.client_secret)
            .env("CONSUMER_BASE_URL", &here)
            .env("PORT", port.to_string())
            .env("MAX_SESSIONS", MAX_SESSIONS.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut process = Program::start(command, EndsBy::Kill).unwrap_or_else(|error| {
            panic!("{language:?}: `just test-examples` prepares it: {error}")
        });
        let listens = process.listens_at("localhost", port, START_TIMEOUT).await;
        listens.unwrap_or_else(|reason| panic!("{language:?}: {reason:?}"));
        Self {
            stack,
            browser: Browser::new().on_page(&format!("{here}/")),
            here,
            _process: process,
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
        let browser = Browser::new().on_page(&format!("{}/", self.here));
        self.start_in(&browser).await;
        browser
    }

    /// Presses the button in `browser`, up to the callback.
    pub(crate) async fn start_in(&self, browser: &Browser) {
        let page = format!("{}/", self.here);
        let (button, callback) = (format!("{page}login/google"), format!("{page}callback"));
        browser.press_until(&page, &button, &callback).await;
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
