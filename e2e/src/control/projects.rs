//! The projects, with their secrets, and more of them for whoever tests an app.

use std::sync::Arc;

use contract::RedirectUri;
use rocket::http::Status;
use rocket::serde::json::Json;
use rocket::{State, get, post};
use serde::Deserialize;

use super::answer::{Body, Refused};
use crate::projects::Credentials;
use crate::world::World;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewProject {
    name: String,
    redirect_uris: Vec<RedirectUri>,
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
    } = new.0;
    if redirect_uris.is_empty() {
        return Err(Refused::bad(
            "redirect_uris must name at least one callback",
        ));
    }
    Ok((
        Status::Created,
        Json(world.projects.register(name, redirect_uris)),
    ))
}
