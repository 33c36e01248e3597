//! The control address of a stack: it moves the clock, queues the user of the next
//! sign-in, and registers projects.

use agent::control::{Control, ControlError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::project::{QueuedUser, TestProject};
use super::verdict::{NotTestable, Stop};

/// The names and callbacks of the runner's own projects: one callback is shared, one
/// is each project's own. Nothing needs to listen there.
const PROJECTS: [(&str, [&str; 2]); 2] = [
    (
        "Conformance",
        [
            "http://localhost:8042/conformance",
            "http://localhost:8042/conformance/second",
        ],
    ),
    (
        "Conformance, another project",
        [
            "http://localhost:8042/conformance",
            "http://localhost:8042/another-project",
        ],
    ),
];

/// A control address.
#[derive(Debug, Clone)]
pub struct StackControl(Control);

/// A project as the control address shows it.
#[derive(Deserialize)]
struct Registered {
    name: String,
    client_id: String,
    client_secret: String,
    redirect_uris: Vec<String>,
}

impl StackControl {
    /// The control address at `url`.
    ///
    /// # Errors
    ///
    /// If no HTTP client can be made here.
    pub fn at(url: &str) -> Result<Self, NotTestable> {
        Ok(Self(Control::at(url)?))
    }

    /// The runner's two projects: those of an earlier run, or new ones.
    ///
    /// # Errors
    ///
    /// If no server answers, or the server is no control address.
    pub async fn projects(&self) -> Result<[TestProject; 2], NotTestable> {
        let known: Vec<Registered> = self.0.get("/api/projects").await?;
        let [one, other] = PROJECTS;
        Ok([
            self.project(&known, one).await?,
            self.project(&known, other).await?,
        ])
    }

    async fn project(
        &self,
        known: &[Registered],
        (name, callbacks): (&str, [&str; 2]),
    ) -> Result<TestProject, ControlError> {
        if let Some(earlier) = known.iter().find(|it| it.name == name) {
            let mut callbacks = earlier.redirect_uris.iter().cloned();
            return Ok(TestProject {
                client_id: earlier.client_id.clone(),
                client_secret: earlier.client_secret.clone(),
                callback: callbacks.next().unwrap_or_default(),
                second_callback: callbacks.next(),
            });
        }
        let new = self.0.register(name, &callbacks).await?;
        let [callback, second] = callbacks.map(str::to_owned);
        Ok(TestProject {
            client_id: new.client_id,
            client_secret: new.client_secret,
            callback,
            second_callback: Some(second),
        })
    }

    /// Moves the clock ahead.
    pub(crate) async fn advance(&self, seconds: u32) -> Result<(), Stop> {
        Ok(self.0.advance(seconds.into()).await?)
    }

    /// Queues `user` for the next sign-in at `provider`.
    pub(crate) async fn queue_user(&self, provider: &str, user: &QueuedUser) -> Result<(), Stop> {
        self.queue(provider, &json!({ "person": user })).await
    }

    /// Lets the user decline the next sign-in at `provider`.
    pub(crate) async fn queue_denial(&self, provider: &str) -> Result<(), Stop> {
        self.queue(provider, &json!({ "misbehave": "deny" })).await
    }

    async fn queue(&self, provider: &str, next: &Value) -> Result<(), Stop> {
        Ok(self.0.queue(provider, next).await?)
    }
}

impl From<ControlError> for NotTestable {
    fn from(error: ControlError) -> Self {
        Self(error.to_string())
    }
}

impl From<ControlError> for Stop {
    fn from(error: ControlError) -> Self {
        Self::Harness(error.to_string())
    }
}
