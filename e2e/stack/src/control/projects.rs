//! The projects, with their secrets: list them, register more, or add a callback.

use std::sync::Arc;

use broker::projects::ProjectName;
use broker::relay::RelayGuard;
use contract::{ClientId, Malformed, Origin, RedirectUri};
use rocket::http::Status;
use rocket::serde::json::Json;
use rocket::{State, get, post};
use serde::Deserialize;

use super::call_list::{Call, calls};
use crate::control_error::ControlError;
use crate::projects::{ProjectCredentials, ProjectRegistry, RelayPolicy};
use crate::request::JsonBody;
use crate::runtime::StackRuntime;

pub(super) fn calls() -> Vec<Call> {
    calls! {
        list => "The projects, with their secrets.";
        register, r#"{"name":"My app","redirect_uris":["http://localhost:4000/callback"]}"# => "Registers a project; its relay_guard may be auto, always or off.";
        allow_callback, r#"{"redirect_uri":"http://localhost:4000/callback"}"# => "Adds a callback to a project.";
    }
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
fn list(runtime: &State<Arc<StackRuntime>>) -> Json<Vec<ProjectCredentials>> {
    Json(runtime.projects.list())
}

#[post("/api/projects", data = "<new>")]
fn register(
    new: JsonBody<NewProject>,
    runtime: &State<Arc<StackRuntime>>,
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
    runtime: &State<Arc<StackRuntime>>,
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
