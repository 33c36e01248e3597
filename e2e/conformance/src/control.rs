//! What the control address of a stack does for a run: it moves the clock, says
//! who signs in next, and registers projects.

use reqwest::Method;
use serde_json::{Value, json};

use super::http::{Answer, Http};
use super::plan::Project;
use super::preflight::Unfit;
use super::run::Stop;

/// Where the runner's own projects come back to. Nobody need listen there.
const CALLBACK: &str = "http://localhost:8042/conformance";

/// The names of the runner's own projects.
const PROJECTS: [&str; 2] = ["Conformance", "Conformance, another project"];

/// A control address.
#[derive(Debug, Clone)]
pub struct Control {
    /// Without a trailing slash.
    url: String,
}

impl Control {
    /// The control address at `url`.
    pub fn at(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
        }
    }

    /// Two projects of the runner's own: those of an earlier run, or new ones.
    ///
    /// # Errors
    ///
    /// When nobody answers there, or somebody else.
    pub async fn projects(&self) -> Result<[Project; 2], Unfit> {
        let http = Http::new(&self.url).map_err(Unfit::new)?;
        let known = self.ask(&http, Method::GET, "/api/projects", None).await;
        let known = known.map_err(|why| self.unfit(&why))?.json();
        let mut ours = Vec::new();
        for name in PROJECTS {
            let earlier = known.as_array().into_iter().flatten();
            let project = match earlier.into_iter().find(|it| it["name"] == name) {
                Some(project) => project.clone(),
                None => self.register(&http, name).await?,
            };
            ours.push(
                project_of(&project).ok_or_else(|| {
                    self.unfit("its projects are not what GET /api/projects shows")
                })?,
            );
        }
        ours.try_into()
            .map_err(|_| self.unfit("it has no projects"))
    }

    async fn register(&self, http: &Http, name: &str) -> Result<Value, Unfit> {
        let callbacks = [CALLBACK.to_owned(), format!("{CALLBACK}/second")];
        let project = json!({ "name": name, "redirect_uris": callbacks });
        let answer = self
            .ask(http, Method::POST, "/api/projects", Some(&project))
            .await;
        Ok(answer.map_err(|why| self.unfit(&why))?.json())
    }

    /// Moves the clock ahead.
    pub(crate) async fn advance(&self, http: &Http, seconds: u64) -> Result<(), Stop> {
        let step = json!({ "seconds": seconds });
        let moved = self.ask(http, Method::POST, "/api/clock/advance", Some(&step));
        moved.await.map(drop).map_err(|why| self.stop(&why))
    }

    /// Lets this happen at the next sign-in with `provider`.
    pub(crate) async fn next(&self, http: &Http, provider: &str, next: &Value) -> Result<(), Stop> {
        let path = format!("/api/upstreams/{provider}/next");
        let queued = self.ask(http, Method::POST, &path, Some(next));
        queued.await.map(drop).map_err(|why| self.stop(&why))
    }

    async fn ask(
        &self,
        http: &Http,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let url = format!("{}{path}", self.url);
        let answer = http.side_call(method, &url, body).await?;
        if answer.is_success() {
            return Ok(answer);
        }
        Err(format!("{path} answered {}", answer.status))
    }

    fn unfit(&self, why: &str) -> Unfit {
        Unfit::new(format!("no stack can be controlled at {}: {why}", self.url))
    }

    fn stop(&self, why: &str) -> Stop {
        Stop::Harness(format!("the control address {}: {why}", self.url))
    }
}

fn project_of(project: &Value) -> Option<Project> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Project {
        client_id: text(&project["client_id"])?,
        client_secret: text(&project["client_secret"])?,
        callback: text(&project["redirect_uris"][0])?,
        second_callback: text(&project["redirect_uris"][1]),
    })
}
