//! The control address of a stack: it moves the clock, queues the user of the next
//! sign-in, and registers projects.

use reqwest::Method;
use serde_json::{Value, json};

use super::error::{NotTestable, Stop};
use super::http::{Http, RawResponse};
use super::project::TestProject;
use super::users::QueuedUser;

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
pub struct StackControl {
    /// Without a trailing slash.
    url: String,
}

impl StackControl {
    /// The control address at `url`.
    pub fn at(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
        }
    }

    /// The runner's two projects: those of an earlier run, or new ones.
    ///
    /// # Errors
    ///
    /// If no server answers, or the server is no control address.
    pub async fn projects(&self) -> Result<[TestProject; 2], NotTestable> {
        let http = Http::new(&self.url).map_err(NotTestable::new)?;
        let known = self.call(&http, Method::GET, "/api/projects", None).await;
        let known = known.map_err(|error| self.not_testable(&error))?.json();
        let mut projects = Vec::new();
        for (name, callbacks) in PROJECTS {
            let mut earlier = known.as_array().into_iter().flatten();
            let project = match earlier.find(|it| it["name"] == name) {
                Some(project) => project.clone(),
                None => self.register(&http, name, callbacks).await?,
            };
            let project = project_in(&project);
            projects.push(project.ok_or_else(|| {
                self.not_testable("its projects are not what GET /api/projects shows")
            })?);
        }
        projects
            .try_into()
            .map_err(|_| self.not_testable("it has no projects"))
    }

    async fn register(
        &self,
        http: &Http,
        name: &str,
        callbacks: [&str; 2],
    ) -> Result<Value, NotTestable> {
        let project = json!({ "name": name, "redirect_uris": callbacks });
        let response = self
            .call(http, Method::POST, "/api/projects", Some(&project))
            .await;
        Ok(response.map_err(|error| self.not_testable(&error))?.json())
    }

    /// Moves the clock ahead.
    pub(crate) async fn advance(&self, http: &Http, seconds: u64) -> Result<(), Stop> {
        let step = json!({ "seconds": seconds });
        let moved = self.call(http, Method::POST, "/api/clock/advance", Some(&step));
        moved.await.map(drop).map_err(|error| self.stop(&error))
    }

    /// Queues `user` for the next sign-in at `provider`.
    pub(crate) async fn queue_user(
        &self,
        http: &Http,
        provider: &str,
        user: &QueuedUser,
    ) -> Result<(), Stop> {
        let next = json!({ "person": user.json() });
        self.queue(http, provider, &next).await
    }

    /// Lets the user decline the next sign-in at `provider`.
    pub(crate) async fn queue_denial(&self, http: &Http, provider: &str) -> Result<(), Stop> {
        self.queue(http, provider, &json!({ "misbehave": "deny" }))
            .await
    }

    async fn queue(&self, http: &Http, provider: &str, next: &Value) -> Result<(), Stop> {
        let path = format!("/api/upstreams/{provider}/next");
        let queued = self.call(http, Method::POST, &path, Some(next));
        queued.await.map(drop).map_err(|error| self.stop(&error))
    }

    async fn call(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<RawResponse, String> {
        let url = format!("{}{path}", self.url);
        let response = http.call_helper(method, &url, body).await?;
        if response.is_success() {
            return Ok(response);
        }
        Err(format!("{path} answered {}", response.status))
    }

    fn not_testable(&self, error: &str) -> NotTestable {
        NotTestable::new(format!(
            "no stack can be controlled at {}: {error}",
            self.url
        ))
    }

    fn stop(&self, error: &str) -> Stop {
        Stop::Harness(format!("the control address {}: {error}", self.url))
    }
}

fn project_in(project: &Value) -> Option<TestProject> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(TestProject {
        client_id: text(&project["client_id"])?,
        client_secret: text(&project["client_secret"])?,
        callback: text(&project["redirect_uris"][0])?,
        second_callback: text(&project["redirect_uris"][1]),
    })
}
