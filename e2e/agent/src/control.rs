//! The control address of the stack: its addresses, projects, clock, faults and events.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::{self, Http, HttpError, Reach};

/// The time for one call; the stack is on this machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The longest answer: the events of a stack that ran for days.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// A control address.
#[derive(Debug, Clone)]
pub struct Control {
    /// Without a trailing slash.
    url: String,
    http: Http,
}

/// The addresses of a stack, without trailing slashes.
#[derive(Debug, Clone, Deserialize)]
pub struct StackAddresses {
    /// The broker.
    pub broker: String,
    /// The imitated providers.
    pub upstreams: Upstreams,
}

/// The addresses of the imitated providers.
#[derive(Debug, Clone, Deserialize)]
pub struct Upstreams {
    /// Google.
    pub google: String,
    /// GitHub.
    pub github: String,
}

/// A project with its secret.
#[derive(Clone, Deserialize)]
pub struct Project {
    /// The name.
    pub name: String,
    /// The id.
    pub client_id: String,
    /// The secret.
    pub client_secret: String,
    /// The registered callbacks.
    pub redirect_uris: Vec<String>,
}

/// An event of the stack, as far as clients read it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Event {
    /// Its number.
    pub seq: u64,
    /// The stack's time, in Unix milliseconds.
    pub at: i64,
    /// The request that it belongs to.
    pub request_id: String,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// The method and the path, without values.
    pub operation: String,
    /// The project of the call.
    pub project: Option<String>,
    /// The login of the call.
    pub login: Option<String>,
    /// The evidence that vouches for the visitor.
    pub provenance: Option<String>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The rule by which the broker refused.
    pub rule: Option<String>,
    /// The fault that triggered.
    pub fault: Option<String>,
    /// Whether the event only remarks that a call repeats a lost one.
    pub resend: bool,
}

/// The reason for which a call of a control address fails, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ControlError(String);

impl From<ControlError> for String {
    fn from(error: ControlError) -> Self {
        error.0
    }
}

impl Control {
    /// The control address at `url`.
    ///
    /// # Errors
    ///
    /// If no HTTP client can be made.
    pub fn at(url: &str) -> Result<Self, ControlError> {
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            http: Http::new(Reach::Loopback, TIMEOUT).map_err(ControlError)?,
        })
    }

    /// The address, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The addresses of the stack.
    pub async fn addresses(&self) -> Result<StackAddresses, ControlError> {
        self.get("/api/stack").await
    }

    /// The registered projects.
    pub async fn projects(&self) -> Result<Vec<Project>, ControlError> {
        self.get("/api/projects").await
    }

    /// Registers a project.
    pub async fn register(
        &self,
        name: &str,
        callbacks: &[impl AsRef<str>],
    ) -> Result<Project, ControlError> {
        let callbacks: Vec<_> = callbacks.iter().map(AsRef::as_ref).collect();
        let body = json!({ "name": name, "redirect_uris": callbacks });
        let path = "/api/projects";
        let project = self.call(Method::POST, path, Some(&body)).await?;
        self.read(path, project)
    }

    /// Registers a further callback of a project.
    pub async fn allow_callback(
        &self,
        client_id: &str,
        callback: &str,
    ) -> Result<(), ControlError> {
        let path = format!("/api/projects/{client_id}/callbacks");
        let body = json!({ "redirect_uri": callback });
        self.call(Method::POST, &path, Some(&body)).await.map(drop)
    }

    /// The mode of a provider's sign-in page.
    pub async fn mode(&self, provider: &str) -> Result<String, ControlError> {
        let switches: Value = self.get(&format!("/api/upstreams/{provider}")).await?;
        let mode = switches["mode"].as_str();
        Ok(mode.unwrap_or("interactive").to_owned())
    }

    /// Sets the mode of a provider's sign-in page.
    pub async fn set_mode(&self, provider: &str, mode: &str) -> Result<(), ControlError> {
        let body = json!({ "mode": mode });
        let path = format!("/api/upstreams/{provider}");
        self.call(Method::PUT, &path, Some(&body)).await.map(drop)
    }

    /// Queues what happens at the next sign-in at `provider`.
    pub async fn queue(&self, provider: &str, next: &Value) -> Result<(), ControlError> {
        let path = format!("/api/upstreams/{provider}/next");
        self.call(Method::POST, &path, Some(next)).await.map(drop)
    }

    /// The time by which the stack's clock is ahead of the system's, in milliseconds.
    pub async fn advanced_ms(&self) -> Result<i64, ControlError> {
        let clock: Value = self.get("/api/clock").await?;
        Ok(advanced_in(&clock))
    }

    /// Moves the clock of the whole stack ahead.
    pub async fn advance(&self, seconds: u64) -> Result<(), ControlError> {
        let body = json!({ "seconds": seconds });
        let moved = self.call(Method::POST, "/api/clock/advance", Some(&body));
        moved.await.map(drop)
    }

    /// Starts another broker on the store of the present one, which ends.
    pub async fn restart_broker(&self) -> Result<(), ControlError> {
        let restarted = self.call(Method::POST, "/api/broker/restart", None);
        restarted.await.map(drop)
    }

    /// Arms a fault; `more` has its further members.
    pub async fn arm(
        &self,
        operation: &str,
        fault: &str,
        more: &Value,
    ) -> Result<(), ControlError> {
        let mut body = json!({ "operation": operation, "fault": fault });
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        let armed = self.call(Method::POST, "/api/faults", Some(&body));
        armed.await.map(drop)
    }

    /// The number of faults that have not triggered.
    pub async fn armed(&self) -> Result<usize, ControlError> {
        let armed: Vec<Value> = self.get("/api/faults").await?;
        Ok(armed.len())
    }

    /// Takes every fault back that has not triggered.
    pub async fn disarm(&self) -> Result<(), ControlError> {
        let disarmed = self.call(Method::DELETE, "/api/faults", None);
        disarmed.await.map(drop)
    }

    /// The events after the one numbered `seq`.
    pub async fn events(&self, after: u64) -> Result<Vec<Event>, ControlError> {
        self.get(&format!("/api/events?after={after}")).await
    }

    /// One exchange, masked.
    pub async fn exchange(&self, request_id: &str) -> Result<Value, ControlError> {
        self.get(&format!("/api/exchanges/{request_id}")).await
    }

    /// Any call that reads something.
    pub async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, ControlError> {
        let answer = self.call(Method::GET, path, None).await?;
        self.read(path, answer)
    }

    /// Any call, and its JSON; null without one.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ControlError> {
        let answer = self.text(method, path, body).await?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&answer).map_err(|error| self.unexpected(path, &error))
    }

    /// Any call, and its answer as text.
    pub async fn text(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<String, ControlError> {
        let url = format!("{}{path}", self.url);
        let client = self.http.client_for(&url).map_err(ControlError)?;
        let mut request = client.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = http::send(request, MAX_ANSWER_BYTES)
            .await
            .map_err(|error| self.unreachable(&error))?;
        match answer.is_success() {
            true => Ok(answer.text()),
            false => Err(self.refused(path, &answer)),
        }
    }

    fn read<T: for<'de> Deserialize<'de>>(
        &self,
        path: &str,
        answer: Value,
    ) -> Result<T, ControlError> {
        serde_json::from_value(answer).map_err(|error| self.unexpected(path, &error))
    }

    fn unreachable(&self, error: &HttpError) -> ControlError {
        let reason = match error {
            HttpError::NoAnswer => "it does not answer".to_owned(),
            // A certificate may be the reason.
            _ if self.url.starts_with("https:") => error.to_string(),
            _ => "nothing listens there".to_owned(),
        };
        let url = &self.url;
        ControlError(format!("no stack at the control address {url}: {reason}"))
    }

    fn refused(&self, path: &str, answer: &http::Response) -> ControlError {
        let body = answer.json();
        let message = body["message"].as_str().or(body["error"].as_str());
        let message = message.map(|it| format!(" {it}"));
        let status = StatusCode::from_u16(answer.status).unwrap_or_default();
        ControlError(format!(
            "the control address {} answered {path} with {status}{}",
            self.url,
            message.unwrap_or_default()
        ))
    }

    fn unexpected(&self, path: &str, error: &serde_json::Error) -> ControlError {
        ControlError(format!(
            "{} is no control address of this kit: {path} has another form ({error})",
            self.url
        ))
    }
}

/// The advance of a clock's reading, in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a test moves a clock by days"
)]
fn advanced_in(clock: &Value) -> i64 {
    (clock["advanced_seconds"].as_f64().unwrap_or_default() * 1000.0) as i64
}
