//! The stack as a whole: its addresses; its clock, which never goes back, except by a reset;
//! its reset; the restart of its broker; and its projects, with their secrets.

use broker::projects::ProjectName;
use broker::relay::RelayGuard;
use contract::{ClientId, Malformed, Origin, RedirectUri};
use rocket::form::Form;
use rocket::http::Status;
use rocket::response::Redirect;
use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::{FromForm, Route, get, post, routes};
use serde::{Deserialize, Serialize};

use super::call_list::{Call, calls};
use crate::projects::{ProjectCredentials, ProjectRegistry, RelayPolicy};
use crate::request::{ControlError, Imitated, JsonBody, RedirectBack, ReturnPath, Runtime};

/// The calls that the imitations alone have, too.
pub(super) fn common_calls() -> Vec<Call> {
    calls! {
        stack => "The addresses of all servers.";
        clock => "The time of the stack.";
        advance, r#"{"seconds":600}"# => "Moves the clock ahead.";
    }
}

pub(super) fn calls() -> Vec<Call> {
    calls! {
        projects => "The projects, with their secrets.";
        register, r#"{"name":"My app","redirect_uris":["http://localhost:4000/callback"]}"# => "Registers a project; its relay_guard may be auto, always or off.";
        restart_broker => "Starts another broker on the store of the present one, which ends.";
        allow_callback, r#"{"redirect_uri":"http://localhost:4000/callback"}"# => "Adds a callback to a project.";
    }
}

/// The reset, which comes last in the list of calls.
pub(super) fn reset_call() -> Vec<Call> {
    calls! {
        reset => "Starts again: the clock at its start, no user signed in, nothing planned, and with a broker an empty store; projects stay.";
    }
}

pub(super) fn forms() -> Vec<Route> {
    routes![reset_form, advance_form]
}

/// The URLs of the stack.
#[get("/api/stack")]
fn stack(imitated: Imitated<'_>) -> Json<Value> {
    let mut description = json!({ "upstreams": imitated.upstream.urls() });
    if let Some(stack) = imitated.stack {
        description["broker"] = json!(stack.urls.broker);
        description["consumer"] = json!(stack.urls.consumer);
    }
    if let Some(path) = imitated.upstream.reach.ca_file() {
        description["ca_file"] = json!(path);
    }
    Json(description)
}

/// See [`Stack::reset`](crate::Stack::reset).
#[post("/api/reset")]
async fn reset(imitated: Imitated<'_>) -> Result<NoContent, ControlError> {
    match imitated.stack {
        Some(stack) => stack.reset().await.map_err(ControlError::internal)?,
        None => imitated.upstream.reset(),
    }
    Ok(NoContent)
}

/// Logins that are under way go on at the new broker.
#[post("/api/broker/restart")]
async fn restart_broker(runtime: &Runtime) -> Result<NoContent, ControlError> {
    let restarted = runtime.restart_broker().await;
    restarted
        .map(|()| NoContent)
        .map_err(ControlError::internal)
}

/// The login on the page of the form is gone then.
#[post("/do/reset")]
async fn reset_form(imitated: Imitated<'_>) -> RedirectBack {
    reset(imitated).await?;
    Ok(Redirect::to("/"))
}

#[derive(Serialize)]
struct ClockReading {
    now: i64,
    advanced_seconds: f64,
}

#[derive(Deserialize, FromForm)]
#[serde(deny_unknown_fields)]
struct Advance {
    seconds: f64,
}

#[get("/api/clock")]
fn clock(imitated: Imitated<'_>) -> Json<ClockReading> {
    Json(ClockReading {
        now: imitated.upstream.clock.now_ms().div_euclid(1000),
        advanced_seconds: seconds(imitated.upstream.clock.advanced_ms()),
    })
}

#[post("/api/clock/advance", data = "<advance>")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a body by value"
)]
fn advance(
    advance: JsonBody<Advance>,
    imitated: Imitated<'_>,
) -> Result<Json<ClockReading>, ControlError> {
    let advanced = imitated.upstream.clock.advance_seconds(advance.0.seconds);
    advanced.map_err(ControlError::bad_request)?;
    Ok(clock(imitated))
}

#[post("/do/advance", data = "<form>")]
fn advance_form(form: Form<Advance>, back: ReturnPath<'_>, imitated: Imitated<'_>) -> RedirectBack {
    advance(JsonBody(form.into_inner()), imitated)?;
    back.redirect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ten years of milliseconds fit 53 bits"
)]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}

/// The body of `POST /api/projects`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewProject {
    name: ProjectName,
    redirect_uris: Vec<RedirectUri>,
    #[serde(default)]
    relay_guard: RelayGuard,
    start_origins: Option<Vec<String>>,
}

#[get("/api/projects")]
fn projects(runtime: &Runtime) -> Json<Vec<ProjectCredentials>> {
    Json(runtime.projects.list())
}

#[post("/api/projects", data = "<new>")]
fn register(
    new: JsonBody<NewProject>,
    runtime: &Runtime,
) -> Result<(Status, Json<ProjectCredentials>), ControlError> {
    let registered = new.0.register(&runtime.projects)?;
    Ok((Status::Created, Json(registered)))
}

/// The body of `POST /api/projects/{client_id}/callbacks`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCallback {
    redirect_uri: RedirectUri,
}

#[post("/api/projects/<client_id>/callbacks", data = "<new>")]
fn allow_callback(
    client_id: &str,
    new: JsonBody<NewCallback>,
    runtime: &Runtime,
) -> Result<Json<ProjectCredentials>, ControlError> {
    let projects = &runtime.projects;
    let project = projects.find(client_id);
    let allowed = project.and_then(|id| projects.allow_callback(&id, new.0.redirect_uri));
    allowed.map(Json).map_err(ControlError::not_found)
}

impl NewProject {
    /// Registers the project; the error names a member.
    pub(crate) fn register(
        self,
        projects: &ProjectRegistry,
    ) -> Result<ProjectCredentials, ControlError> {
        let Self {
            name,
            redirect_uris,
            relay_guard,
            start_origins,
        } = self;
        if redirect_uris.is_empty() {
            return Err(ControlError::bad_request(
                "redirect_uris must name at least one callback",
            ));
        }
        let policy = RelayPolicy {
            relay_guard,
            start_origins: start_origins.as_deref().map(parse_origins).transpose()?,
        };
        Ok(projects.register_with_policy(name, redirect_uris, policy))
    }
}

fn parse_origins(texts: &[String]) -> Result<Vec<Origin>, ControlError> {
    if texts.is_empty() {
        return Err(ControlError::bad_request(
            "start_origins must name at least one origin, or be left out",
        ));
    }
    let parsed = texts.iter().map(|text| text.parse());
    parsed
        .collect::<Result<_, Malformed>>()
        .map_err(|error| ControlError::bad_request(format!("start_origins: {error}")))
}

/// The project that the field `client_id` of a call names.
pub(super) fn find_project(
    projects: &ProjectRegistry,
    client_id: Option<&str>,
) -> Result<Option<ClientId>, ControlError> {
    let found = client_id.map(|id| projects.find(id)).transpose();
    found.map_err(|error| ControlError::bad_request(format!("client_id: {error}")))
}
