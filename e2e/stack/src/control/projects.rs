//! The projects, with their secrets, and more of them for whoever tests an app.

use std::sync::Arc;

use broker::projects::ProjectName;
use broker::relay::RelayGuard;
use contract::{Malformed, Origin, RedirectUri};
use rocket::http::Status;
use rocket::serde::json::Json;
use rocket::{State, get, post};
use serde::Deserialize;

use super::answer::{Body, Refused};
use crate::projects::{Credentials, Guard};
use crate::world::World;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewProject {
    name: ProjectName,
    redirect_uris: Vec<RedirectUri>,
    #[serde(default)]
    relay_guard: RelayGuard,
    start_origins: Option<Vec<String>>,
}

#[get("/api/projects")]
pub(super) fn list(world: &State<Arc<World>>) -> Json<Vec<Credentials>> {
    Json(world.projects.list())
}

#[post("/api/projects", data = "<new>")]
pub(super) fn register(
    new: Body<NewProject>,
    world: &State<Arc<World>>,
) -> Result<(Status, Json<Credentials>), Refused> {
    let NewProject {
        name,
        redirect_uris,
        relay_guard,
        start_origins,
    } = new.0;
    if redirect_uris.is_empty() {
        return Err(Refused::bad(
            "redirect_uris must name at least one callback",
        ));
    }
    let guard = Guard {
        relay_guard,
        start_origins: start_origins.as_deref().map(origins).transpose()?,
    };
    let new = world.projects.register_guarded(name, redirect_uris, guard);
    Ok((Status::Created, Json(new)))
}

fn origins(texts: &[String]) -> Result<Vec<Origin>, Refused> {
    if texts.is_empty() {
        return Err(Refused::bad(
            "start_origins must name at least one origin, or be left out",
        ));
    }
    let parsed = texts.iter().map(|text| text.parse());
    parsed
        .collect::<Result<_, Malformed>>()
        .map_err(|error| Refused::bad(format!("start_origins: {error}")))
}
