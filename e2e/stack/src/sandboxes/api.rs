//! The calls of the control address that make, list and end sandboxes.

use std::sync::Arc;

use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::Json;
use rocket::{Build, Rocket, State, delete, get, post};

use super::plan::NewSandbox;
use super::{SandboxInfo, Sandboxes};
use crate::control::{SandboxCalls, calls};
use crate::control_error::ControlError;
use crate::request::JsonBody;
use crate::runtime::StackRuntime;
use crate::sandbox_directory::SandboxId;

/// Adds the calls to the control address of a stack.
pub(crate) fn beside(server: Rocket<Build>, sandboxes: Arc<Sandboxes>) -> Rocket<Build> {
    let calls = calls! {
        start, r#"{"name":"checkout","ttl_seconds":900,"consumer":true}"# => "Starts a sandbox: a stack of its own; starts_at and projects are optional, too.";
        list => "The sandboxes that run.";
        read => "One of them.";
        end => "Ends it.";
    };
    let routes: Vec<_> = calls.iter().map(|call| call.route.clone()).collect();
    server
        .manage(sandboxes)
        .manage(SandboxCalls(calls))
        .mount("/", routes)
}

#[post("/api/sandboxes", data = "<new>")]
async fn start(
    new: JsonBody<NewSandbox>,
    sandboxes: &State<Arc<Sandboxes>>,
    runtime: &State<Arc<StackRuntime>>,
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
