//! The calls of the control address that make, list and end sandboxes.

use std::sync::Arc;

use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::Json;
use rocket::{Build, Rocket, State, delete, get, post, routes};

use super::activity::{Activity, RecordCalls};
use super::plan::NewSandbox;
use super::{SandboxInfo, Sandboxes};
use crate::control::JsonBody;
use crate::control_error::ControlError;
use crate::runtime::StackRuntime;
use crate::sandbox_directory::SandboxId;

/// Adds the calls to the control address of a stack.
pub(crate) fn beside(server: Rocket<Build>, sandboxes: Arc<Sandboxes>) -> Rocket<Build> {
    server
        .manage(sandboxes)
        .mount("/api/sandboxes", routes![start, list, read, end])
}

/// Adds what the control address of a sandbox has: it records its calls, and refers to
/// the stack.
pub(super) fn inside(server: Rocket<Build>, activity: Arc<Activity>) -> Rocket<Build> {
    server
        .attach(RecordCalls(activity))
        .mount("/api/sandboxes", routes![nested, nested_start])
}

#[post("/", data = "<new>")]
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

#[get("/")]
fn list(sandboxes: &State<Arc<Sandboxes>>) -> Json<Vec<SandboxInfo>> {
    Json(sandboxes.list())
}

#[get("/<id>")]
fn read(id: &str, sandboxes: &State<Arc<Sandboxes>>) -> Result<Json<SandboxInfo>, ControlError> {
    let found = id.parse().ok().and_then(|id| sandboxes.find(id));
    found.map(Json).ok_or_else(|| not_found(id, sandboxes))
}

#[delete("/<id>")]
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

#[get("/<_..>")]
fn nested(runtime: &State<Arc<StackRuntime>>) -> ControlError {
    refer_to_stack(runtime)
}

#[post("/<_..>")]
fn nested_start(runtime: &State<Arc<StackRuntime>>) -> ControlError {
    refer_to_stack(runtime)
}

fn refer_to_stack(runtime: &StackRuntime) -> ControlError {
    let stack = runtime.own_sandbox.as_ref().map(|own| &own.stack_control);
    ControlError::not_found(format!(
        "a sandbox has no sandboxes of its own: call the stack, at {}/api/sandboxes",
        stack.map_or("its control address", String::as_str)
    ))
}
