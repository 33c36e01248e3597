//! The control address of the stack: its addresses, projects, clock, faults and events.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::verdict::{Outcome, Stop};

/// The time for one call; the stack is on this machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A control address.
#[derive(Debug, Clone)]
pub(crate) struct Control {
    /// Without a trailing slash.
    url: String,
    client: Client,
}

/// The addresses of a stack, without trailing slashes.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StackAddresses {
    pub(crate) broker: String,
    pub(crate) upstreams: Upstreams,
}

/// The addresses of the imitated providers.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Upstreams {
    pub(crate) google: String,
    pub(crate) github: String,
}

/// A project with its secret.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Project {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

/// An event of the stack, as far as checks read it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Event {
    pub(crate) seq: u64,
    /// The stack's time, in Unix milliseconds.
    pub(crate) at: i64,
    pub(crate) request_id: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) operation: String,
    pub(crate) project: Option<String>,
    pub(crate) login: Option<String>,
    pub(crate) provenance: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) rule: Option<String>,
    pub(crate) fault: Option<String>,
    /// Whether the event only remarks that a call repeats a lost one.
    pub(crate) resend: bool,
}

impl Control {
    /// The control address at `url`.
    ///
    /// # Errors
    ///
    /// If no HTTP client can be made.
    pub(crate) fn at(url: &str) -> Result<Self, String> {
        let client = Client::builder()
            .no_proxy()
            .timeout(TIMEOUT)
            .tls_certs_only([])
            .build();
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            client: client.map_err(|error| format!("no HTTP client can be made here: {error}"))?,
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) async fn addresses(&self) -> Result<StackAddresses, String> {
        self.get("/api/stack").await
    }

    pub(crate) async fn projects(&self) -> Result<Vec<Project>, String> {
        self.get("/api/projects").await
    }

    /// Registers a project.
    pub(crate) async fn register(
        &self,
        name: &str,
        callbacks: &[String],
    ) -> Result<Project, String> {
        let body = json!({ "name": name, "redirect_uris": callbacks });
        let answer = self
            .call(Method::POST, "/api/projects", Some(&body))
            .await?;
        serde_json::from_value(answer).map_err(|error| self.unexpected("/api/projects", &error))
    }

    /// Registers a further callback of a project.
    pub(crate) async fn allow_callback(
        &self,
        client_id: &str,
        callback: &str,
    ) -> Result<(), String> {
        let path = format!("/api/projects/{client_id}/callbacks");
        let body = json!({ "redirect_uri": callback });
        self.call(Method::POST, &path, Some(&body)).await.map(drop)
    }

    /// The mode of a provider's sign-in page.
    pub(crate) async fn mode(&self, provider: &str) -> Result<String, String> {
        let switches: Value = self.get(&format!("/api/upstreams/{provider}")).await?;
        Ok(switches["mode"]
            .as_str()
            .unwrap_or("interactive")
            .to_owned())
    }

    pub(crate) async fn set_mode(&self, provider: &str, mode: &str) -> Result<(), String> {
        let body = json!({ "mode": mode });
        let path = format!("/api/upstreams/{provider}");
        self.call(Method::PUT, &path, Some(&body)).await.map(drop)
    }

    /// The time by which the stack's clock is ahead of the system's, in milliseconds.
    pub(crate) async fn advanced_ms(&self) -> Outcome<i64> {
        let clock: Value = self.get("/api/clock").await.map_err(Stop::harness)?;
        Ok(advanced_in(&clock))
    }

    /// Moves the clock of the whole stack ahead.
    pub(crate) async fn advance(&self, seconds: u64) -> Outcome {
        let body = json!({ "seconds": seconds });
        let moved = self.call(Method::POST, "/api/clock/advance", Some(&body));
        moved.await.map(drop).map_err(Stop::harness)
    }

    /// Arms a fault; `more` has its further members.
    pub(crate) async fn arm(&self, operation: &str, fault: &str, more: &Value) -> Outcome {
        let mut body = json!({ "operation": operation, "fault": fault });
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        let armed = self.call(Method::POST, "/api/faults", Some(&body));
        armed.await.map(drop).map_err(Stop::harness)
    }

    /// The number of faults that have not triggered.
    pub(crate) async fn armed(&self) -> Outcome<usize> {
        let armed: Vec<Value> = self.get("/api/faults").await.map_err(Stop::harness)?;
        Ok(armed.len())
    }

    pub(crate) async fn disarm(&self) -> Outcome {
        let disarmed = self.call(Method::DELETE, "/api/faults", None);
        disarmed.await.map(drop).map_err(Stop::harness)
    }

    /// The events after the one numbered `seq`.
    pub(crate) async fn events(&self, after: u64) -> Result<Vec<Event>, String> {
        self.get(&format!("/api/events?after={after}")).await
    }

    /// One exchange, masked.
    pub(crate) async fn exchange(&self, request_id: &str) -> Result<Value, String> {
        self.get(&format!("/api/exchanges/{request_id}")).await
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, String> {
        let answer = self.call(Method::GET, path, None).await?;
        serde_json::from_value(answer).map_err(|error| self.unexpected(path, &error))
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, String> {
        let url = format!("{}{path}", self.url);
        let mut request = self.client.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let text = answer
            .text()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if !status.is_success() {
            return Err(self.refused(path, status, &text));
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|error| self.unexpected(path, &error))
    }

    fn unreachable(&self, error: &reqwest::Error) -> String {
        let reason = if error.is_timeout() {
            "it does not answer"
        } else {
            "nothing listens there"
        };
        format!("no stack at the control address {}: {reason}", self.url)
    }

    fn refused(&self, path: &str, status: StatusCode, text: &str) -> String {
        let body: Value = serde_json::from_str(text).unwrap_or_default();
        let message = body["message"]
            .as_str()
            .or(body["error"].as_str())
            .unwrap_or_default();
        format!(
            "the control address {} answered {path} with {status} {message}",
            self.url
        )
    }

    fn unexpected(&self, path: &str, error: &serde_json::Error) -> String {
        format!(
            "{} is no control address of this kit: {path} has another form ({error})",
            self.url
        )
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

/// The origin of an address, without a trailing slash.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
