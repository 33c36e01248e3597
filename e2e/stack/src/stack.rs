//! The stack: a handle to everything that runs. Its methods are everything that the control
//! address offers to other languages, for tests in Rust.

use std::path::Path;
use std::sync::Arc;

use mock_upstream::MockUpstream;

use crate::event_log::EventLog;
use crate::faults::Faults;
use crate::launch::{Launch, RunningStack};
use crate::login_status::{self, LoginStatus};
use crate::projects::ProjectRegistry;
use crate::runtime::{SandboxDirectory, StackRuntime, StackUrls};
use crate::sandboxes::{self, Sandboxes};
use crate::settings::{StackSettings, StackStartError};
use crate::time::StackClock;
use crate::tls::SharedAuthority;

/// A running stack.
pub struct Stack {
    running: RunningStack,
    sandboxes: Arc<Sandboxes>,
    urls: StackUrls,
}

impl Stack {
    /// Starts everything; when this returns, every server answers.
    ///
    /// # Errors
    ///
    /// If an address is taken; the error names it and the flag that sets it.
    pub async fn start(settings: StackSettings) -> Result<Self, StackStartError> {
        settings.check()?;
        let authority = SharedAuthority::new(settings.hosts(), settings.ca_file.clone());
        if settings.ca_file.is_some() {
            // Clients read it at their start, which may be before the first https sandbox.
            authority.get()?;
        }
        let projects = ProjectRegistry::default();
        let callbacks = settings.callbacks.clone();
        if !callbacks.is_empty() {
            let reached_from = settings.reached_from();
            projects.register_for_development("My app", "my-app", callbacks, reached_from);
        }
        let directory = Arc::new(SandboxDirectory::default());
        let sandboxes = Sandboxes::new(&settings, authority.clone(), directory.clone());
        let launch = Launch {
            settings: &settings,
            projects,
            tls: settings.https.then(|| authority.get()).transpose()?,
            has_demo: true,
            directory,
            own_sandbox: None,
            extend_control: &|server| sandboxes::api::beside(server, sandboxes.clone()),
        };
        let running = launch.start().await?;
        let urls = running.runtime.urls.with_demo();
        Ok(Self {
            running,
            sandboxes,
            urls,
        })
    }

    /// Stops everything, its sandboxes too; open requests get a moment to finish.
    pub async fn stop(self) {
        self.sandboxes.end_all().await;
        self.running.stop().await;
    }

    pub(crate) fn runtime(&self) -> &Arc<StackRuntime> {
        &self.running.runtime
    }

    /// The URLs of all servers.
    pub fn urls(&self) -> &StackUrls {
        &self.urls
    }

    /// The file with the certificate authority that clients of this stack must trust;
    /// `None` without TLS.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Stack, StackSettings};
    ///
    /// let settings = StackSettings { https: true, ..StackSettings::for_tests() };
    /// let stack = Stack::start(settings).await?;
    ///
    /// let ca = std::fs::read(stack.ca_file().ok_or("the stack has TLS")?)?;
    /// let ca = reqwest::Certificate::from_pem(&ca)?;
    /// let client = reqwest::Client::builder().tls_certs_merge([ca]).build()?;
    /// let page = client.get(&stack.urls().consumer).send().await?;
    /// assert!(page.url().scheme() == "https" && page.status().is_success());
    /// # Ok(()) }
    /// ```
    pub fn ca_file(&self) -> Option<&Path> {
        self.runtime().reach.ca_file()
    }

    /// The clock of the whole stack.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use stack::{Stack, StackClock, StackSettings};
    ///
    /// // A frozen clock: nothing expires while a test is busy.
    /// let clock = StackClock::frozen_at(1_790_000_000_000);
    /// let stack = Stack::start(StackSettings { clock, ..StackSettings::for_tests() }).await?;
    ///
    /// // The last millisecond of a login.
    /// stack.clock().advance(Duration::from_millis(599_999));
    /// assert_eq!(stack.clock().now_ms(), 1_790_000_599_999);
    /// # Ok(()) }
    /// ```
    pub fn clock(&self) -> &StackClock {
        &self.runtime().clock
    }

    /// The imitated providers: their next users, misbehaviours and request journals.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Stack, StackSettings};
    /// use mock_upstream::{Misbehaviour, Next, User};
    ///
    /// let stack = Stack::start(StackSettings::for_tests()).await?;
    /// let github = stack.upstream().github();
    ///
    /// // This user signs in next; the user after that cancels.
    /// let octo = User { id: "4711".into(), username: Some("octo".into()), ..User::default() };
    /// github.queue(Next::User(octo))?;
    /// github.queue(Next::Misbehave(Misbehaviour::Deny))?;
    ///
    /// // The requests of the broker and of browsers, secrets masked.
    /// assert!(github.journal().is_empty());
    /// # Ok(()) }
    /// ```
    pub fn upstream(&self) -> &MockUpstream {
        &self.runtime().upstream.mock
    }

    /// The projects, with their secrets. They survive a [reset](Stack::reset).
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Stack, StackSettings};
    ///
    /// let stack = Stack::start(StackSettings::for_tests()).await?;
    /// let callback = "http://localhost:5173/callback".parse()?;
    /// let mine = stack.projects().register("My app".parse()?, vec![callback]);
    /// println!("client_id {}, client_secret {}", mine.client_id, mine.client_secret.expose());
    ///
    /// // The app turned out to run on another port.
    /// stack.projects().allow_callback(&mine.client_id, "http://localhost:5174/callback".parse()?)?;
    ///
    /// stack.reset().await?;
    /// assert!(stack.projects().list().iter().any(|it| it.client_id == mine.client_id));
    /// # Ok(()) }
    /// ```
    pub fn projects(&self) -> &ProjectRegistry {
        &self.runtime().projects
    }

    /// The faults of the proxy in front of the broker.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::faults::{Fault, FaultInjection};
    /// use stack::{Stack, StackSettings};
    ///
    /// let stack = Stack::start(StackSettings::for_tests()).await?;
    /// let providers = "GET /api/providers".parse()?;
    /// stack.faults().arm(FaultInjection::next(providers, Fault::LoseResponse));
    ///
    /// let url = format!("{}/api/providers", stack.urls().broker);
    /// assert!(reqwest::get(&url).await.is_err(), "the answer was lost");
    /// assert!(reqwest::get(&url).await?.status().is_success(), "it triggers once");
    /// assert!(stack.faults().armed().is_empty());
    /// # Ok(()) }
    /// ```
    pub fn faults(&self) -> &Faults {
        self.runtime().faults()
    }

    /// The events of the broker's audit log and of the proxy, and the masked exchanges.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Stack, StackSettings};
    ///
    /// let stack = Stack::start(StackSettings::for_tests()).await?;
    /// let url = format!("{}/v1/token?client_secret=oh-no", stack.urls().broker);
    /// reqwest::get(&url).await?;
    ///
    /// let event = stack.event_log().events(0, None).remove(0);
    /// assert_eq!(event.rule, Some("request.secret_in_url"));
    /// println!("{:?}: {:?} {:?}", event.law, event.says, event.advice);
    ///
    /// let exchange = stack.event_log().exchange(&event.request_id).ok_or("it is kept")?;
    /// assert!(!exchange.request.start.contains("oh-no"), "secrets are masked");
    /// # Ok(()) }
    /// ```
    pub fn event_log(&self) -> &EventLog {
        self.runtime().event_log()
    }

    /// The status of the login with this id, read from the store rather than from the
    /// answers that its client received; `None` if no event mentions it. The id is the
    /// `login` of its events.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::login_status::LoginState;
    /// use stack::{Stack, StackSettings};
    ///
    /// let stack = Stack::start(StackSettings::for_tests()).await?;
    /// // A user presses the demo's button and goes no further.
    /// let no_redirects = reqwest::redirect::Policy::none();
    /// let button = format!("{}/login/google", stack.urls().consumer);
    /// let page = stack.urls().consumer.clone();
    /// reqwest::Client::builder().redirect(no_redirects).build()?
    ///     .post(button).header("Origin", page).send().await?;
    ///
    /// let id = stack.event_log().logins(1).remove(0);
    /// let login = stack.login_status(&id).await.ok_or("it is known")?;
    /// assert_eq!(login.state, LoginState::Pending);
    /// assert_eq!(login.calls.len(), 1, "the demo's backend has called once");
    /// # Ok(()) }
    /// ```
    pub async fn login_status(&self, login: &str) -> Option<LoginStatus> {
        login_status::of(self.runtime(), login).await
    }

    /// The broker's own URL, which bypasses the proxy, its faults and its events: a
    /// benchmark measures with it what the proxy adds.
    pub async fn broker_url_without_proxy(&self) -> String {
        let broker = self.runtime().broker.lock().await;
        let address = broker.as_ref().map(|broker| broker.address);
        format!("http://{}", address.expect("it runs until the stack stops"))
    }

    /// Begins again: a fresh broker on an empty store, the clock at its start, no session
    /// at any provider, no events, no faults. Registered projects stay.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use stack::{Stack, StackSettings};
    ///
    /// let stack = Stack::start(StackSettings::for_tests()).await?;
    /// stack.clock().advance(Duration::from_secs(600));
    /// stack.reset().await?;
    /// assert_eq!(stack.clock().advanced_ms(), 0);
    /// assert!(stack.event_log().events(0, None).is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the fresh broker does not start; then everything stays as it was.
    pub async fn reset(&self) -> Result<(), StackStartError> {
        self.runtime().reset().await
    }
}
