//! The calls of the control address that make, list and end sandboxes, and the settings that
//! follow from the body of the first.

use std::sync::Arc;
use std::time::Duration;

use broker::model::UnixMs;
use broker::projects::ProjectName;
use mock_upstream::Mode;
use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::Json;
use rocket::{Build, Rocket, State, delete, get, post};
use serde::Deserialize;

use super::{SandboxInfo, SandboxPlan, Sandboxes, class};
use crate::control::call_list::{Call, SandboxCalls, calls};
use crate::control::{self, NewProject};
use crate::projects::ProjectRegistry;
use crate::request::{ControlError, JsonBody, Runtime, parse_field};
use crate::runtime::SandboxId;
use crate::settings::StackSettings;
use crate::time::StackClock;

/// Every call of the control address of a stack, in the order of the page `/calls`.
pub fn calls() -> Vec<Call> {
    control::calls().into_iter().chain(own_calls()).collect()
}

fn own_calls() -> Vec<Call> {
    let calls = calls! {
        start, r#"{"name":"checkout","ttl_seconds":900,"consumer":true}"# => "Starts a sandbox: a stack of its own; starts_at and projects are optional, too.";
        list => "The sandboxes that run.";
        read => "One of them.";
        end => "Ends it.";
    };
    calls.into_iter().chain(class::calls()).collect()
}

/// Adds the calls to the control address of a stack.
pub(crate) fn beside(server: Rocket<Build>, sandboxes: Arc<Sandboxes>) -> Rocket<Build> {
    let calls = own_calls();
    let routes: Vec<_> = calls.iter().map(|call| call.route.clone()).collect();
    server
        .manage(sandboxes)
        .manage(SandboxCalls(calls))
        .mount("/", routes)
        .mount("/", class::pages())
}

#[post("/api/sandboxes", data = "<new>")]
async fn start(
    new: JsonBody<NewSandbox>,
    sandboxes: &State<Arc<Sandboxes>>,
    runtime: &Runtime,
) -> Result<(Status, Json<SandboxInfo>), ControlError> {
    let plan = new.0.plan(&sandboxes.template)?;
    let control = runtime.urls.control.clone();
    let started = sandboxes.start(plan, control).await?;
    Ok((Status::Created, Json(started)))
}

#[get("/api/sandboxes")]
fn list(sandboxes: &State<Arc<Sandboxes>>) -> Json<Vec<SandboxInfo>> {
    Json(sandboxes.list())
}

#[get("/api/sandboxes/<id>")]
fn read(id: &str, sandboxes: &State<Arc<Sandboxes>>) -> Result<Json<SandboxInfo>, ControlError> {
    let found = id.parse().ok().and_then(|id| sandboxes.find(id));
    found.map(Json).ok_or_else(|| not_found(id, sandboxes))
}

#[delete("/api/sandboxes/<id>")]
async fn end(id: &str, sandboxes: &State<Arc<Sandboxes>>) -> Result<NoContent, ControlError> {
    if let Ok(known) = id.parse()
        && sandboxes.end(known).await
    {
        return Ok(NoContent);
    }
    Err(not_found(id, sandboxes))
}

fn not_found(text: &str, sandboxes: &Sandboxes) -> ControlError {
    match text.parse::<SandboxId>() {
        Ok(id) if sandboxes.has_ended(id) => ControlError::not_found(format!(
            "sandbox {id} has ended: it was deleted, or its control address was not called \
             for its ttl_seconds; POST /api/sandboxes makes a new one"
        )),
        _ => ControlError::not_found(
            "there is no such sandbox; GET /api/sandboxes lists those that run",
        ),
    }
}

const DEFAULT_TTL_SECONDS: u64 = 900;
/// A day: a sandbox that is forgotten costs memory.
pub(super) const MAX_TTL_SECONDS: u64 = 86_400;

/// 2000-01-01 and 2100-01-01: certificates and cookies of other times make no sense.
const STARTS_AT: std::ops::RangeInclusive<i64> = 946_684_800..=4_102_444_800;

/// The body of `POST /api/sandboxes`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSandbox {
    name: Option<String>,
    #[serde(default = "default_ttl")]
    ttl_seconds: u64,
    starts_at: Option<i64>,
    mode: Option<String>,
    https: Option<bool>,
    #[serde(default)]
    consumer: bool,
    #[serde(default)]
    projects: Vec<NewProject>,
}

fn default_ttl() -> u64 {
    DEFAULT_TTL_SECONDS
}

impl NewSandbox {
    /// Checks every member; an error names it.
    fn plan(self, template: &StackSettings) -> Result<SandboxPlan, ControlError> {
        let mode = self.mode.map(|mode| parse_field::<Mode>("mode", &mode));
        let mode = mode.transpose()?;
        let registry = ProjectRegistry::default();
        for (index, project) in self.projects.into_iter().enumerate() {
            let registered = project.register(&registry);
            registered.map_err(|error| error.within(&format!("projects[{index}]")))?;
        }
        Ok(SandboxPlan {
            name: self.name.as_deref().map(parse_name).transpose()?,
            learner: None,
            lifetime: parse_ttl(self.ttl_seconds)?,
            has_demo: self.consumer,
            projects: registry,
            settings: StackSettings {
                https: parse_https(self.https, template)?,
                automatic: mode != Some(Mode::Interactive),
                clock: match self.starts_at {
                    Some(seconds) => parse_start(seconds)?,
                    None => StackClock::default(),
                },
                ..template.clone()
            },
        })
    }
}

fn parse_name(text: &str) -> Result<String, ControlError> {
    match text.parse::<ProjectName>() {
        Ok(name) => Ok(name.into()),
        Err(_) => Err(ControlError::bad_request(
            "name: 1 to 80 printable characters, or leave it out",
        )),
    }
}

/// Whether the sandbox has TLS; by default, if the stack has.
fn parse_https(https: Option<bool>, template: &StackSettings) -> Result<bool, ControlError> {
    match (https, &template.host) {
        (Some(false), Some(_)) => Err(ControlError::bad_request(
            "https: a stack with --host serves https alone; leave the member out",
        )),
        (https, _) => Ok(https.unwrap_or(template.https)),
    }
}

fn parse_ttl(seconds: u64) -> Result<Duration, ControlError> {
    match seconds {
        1..=MAX_TTL_SECONDS => Ok(Duration::from_secs(seconds)),
        _ => Err(ControlError::bad_request(format!(
            "ttl_seconds: 1 to {MAX_TTL_SECONDS}, counted from the last call to the \
             sandbox's control address"
        ))),
    }
}

fn parse_start(seconds: i64) -> Result<StackClock, ControlError> {
    if !STARTS_AT.contains(&seconds) {
        return Err(ControlError::bad_request(format!(
            "starts_at: Unix seconds between {} (2000) and {} (2100)",
            STARTS_AT.start(),
            STARTS_AT.end()
        )));
    }
    Ok(StackClock::starting_at(UnixMs(seconds * 1000)))
}
