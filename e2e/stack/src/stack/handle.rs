//! What a test in Rust has of a running stack: everything that the control address
//! offers to the others.

use mock_upstream::MockUpstream;

use super::Stack;
use crate::faults::Faults;
use crate::logbook::Logbook;
use crate::projects::Registry;
use crate::start_error::StartError;
use crate::time::StackClock;
use crate::truth::{Login, login};
use crate::world::Urls;

impl Stack {
    /// Where everything is.
    pub fn urls(&self) -> &Urls {
        &self.world.urls
    }

    /// The one clock, which moves ahead for everybody.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use stack::{Settings, Stack, StackClock};
    ///
    /// // One that stands: nothing ends while a test is busy.
    /// let clock = StackClock::standing_at(1_790_000_000_000);
    /// let stack = Stack::start(Settings { clock, ..Settings::for_tests() }).await?;
    ///
    /// // The last millisecond of a login.
    /// stack.clock().advance(Duration::from_millis(599_999));
    /// assert_eq!(stack.clock().now_ms(), 1_790_000_599_999);
    /// # Ok(()) }
    /// ```
    pub fn clock(&self) -> &StackClock {
        &self.world.clock
    }

    /// The imitated providers: who signs in there, and what goes wrong.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Settings, Stack};
    /// use mock_upstream::{Misbehaviour, Next, User};
    ///
    /// let stack = Stack::start(Settings::for_tests()).await?;
    /// let github = stack.upstream().github();
    ///
    /// // The next to sign in is this person; then somebody cancels.
    /// let nameless = User { id: "4711".into(), username: Some("octo".into()), ..User::default() };
    /// github.queue(Next::User(nameless))?;
    /// github.queue(Next::Misbehave(Misbehaviour::Deny))?;
    ///
    /// // What the broker and browsers asked of it, secrets masked.
    /// assert!(github.journal().is_empty());
    /// # Ok(()) }
    /// ```
    pub fn upstream(&self) -> &MockUpstream {
        &self.world.upstream
    }

    /// The projects, with their secrets. They survive a [reset](Stack::reset).
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Settings, Stack};
    ///
    /// let stack = Stack::start(Settings::for_tests()).await?;
    /// let callback = "http://localhost:5173/callback".parse()?;
    /// let mine = stack.projects().register("My app".parse()?, vec![callback]);
    /// println!("client_id {}, client_secret {}", mine.client_id, mine.client_secret.expose());
    ///
    /// stack.reset().await?;
    /// assert!(stack.projects().list().iter().any(|it| it.client_id == mine.client_id));
    /// # Ok(()) }
    /// ```
    pub fn projects(&self) -> &Registry {
        &self.world.projects
    }

    /// What the wire in front of the broker does wrong, at which call.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::faults::{Fault, Order};
    /// use stack::{Settings, Stack};
    ///
    /// let stack = Stack::start(Settings::for_tests()).await?;
    /// let providers = "GET /api/providers".parse()?;
    /// stack.faults().arm(Order::next(providers, Fault::LoseResponse));
    ///
    /// let url = format!("{}/api/providers", stack.urls().broker);
    /// assert!(reqwest::get(&url).await.is_err(), "the answer was lost");
    /// assert!(reqwest::get(&url).await?.status().is_success(), "it strikes once");
    /// assert!(stack.faults().standing().is_empty());
    /// # Ok(()) }
    /// ```
    pub fn faults(&self) -> &Faults {
        &self.world.watch.faults
    }

    /// What happened: the broker's audit, and what the wire did.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::{Settings, Stack};
    ///
    /// let stack = Stack::start(Settings::for_tests()).await?;
    /// let url = format!("{}/v1/token?client_secret=oh-no", stack.urls().broker);
    /// reqwest::get(&url).await?;
    ///
    /// let event = stack.logbook().events(0, None).remove(0);
    /// assert_eq!(event.rule, Some("request.secret_in_url"));
    /// println!("{:?}: {:?} {:?}", event.law, event.says, event.advice);
    ///
    /// let exchange = stack.logbook().exchange(&event.request_id).ok_or("it is kept")?;
    /// assert!(!exchange.request.start.contains("oh-no"), "secrets are masked");
    /// # Ok(()) }
    /// ```
    pub fn logbook(&self) -> &Logbook {
        &self.world.watch.logbook
    }

    /// The truth about a login, whatever its client heard; none if no event tells
    /// of it. Its name is the fingerprint that its events bear.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use stack::truth::State;
    /// use stack::{Settings, Stack};
    ///
    /// let stack = Stack::start(Settings::for_tests()).await?;
    /// // Somebody presses the demo's button, and goes no further.
    /// let here = reqwest::redirect::Policy::none();
    /// let button = format!("{}/login/google", stack.urls().consumer);
    /// let page = stack.urls().consumer.clone();
    /// reqwest::Client::builder().redirect(here).build()?
    ///     .post(button).header("Origin", page).send().await?;
    ///
    /// let name = stack.logbook().logins(1).remove(0);
    /// let login = stack.login(&name).await.ok_or("it is known")?;
    /// assert_eq!(login.state, State::Pending);
    /// assert_eq!(login.calls.len(), 1, "and its backend has called once");
    /// # Ok(()) }
    /// ```
    pub async fn login(&self, fingerprint: &str) -> Option<Login> {
        login(&self.world, fingerprint).await
    }

    /// The URL of the broker past the wire, where nothing is struck or written
    /// down: to measure what the wire adds.
    pub async fn broker_past_the_wire(&self) -> String {
        let broker = self.world.broker.lock().await;
        let address = broker.as_ref().map(|broker| broker.address);
        format!("http://{}", address.expect("it runs until the stack stops"))
    }

    /// Begins a new world: a fresh broker on an empty store, the time at which the
    /// clock began, nobody signed in anywhere, no faults. Registered projects stay.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use stack::{Settings, Stack};
    ///
    /// let stack = Stack::start(Settings::for_tests()).await?;
    /// stack.clock().advance(Duration::from_secs(600));
    /// stack.reset().await?;
    /// assert_eq!(stack.clock().advanced_ms(), 0);
    /// assert!(stack.logbook().events(0, None).is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// When the fresh broker does not start; the old world goes on then.
    pub async fn reset(&self) -> Result<(), StartError> {
        self.world.reset().await
    }
}
