//! The truth about logins.

use std::sync::Arc;

use rocket::serde::json::Json;
use rocket::{State, get};

use super::answer::Refused;
use crate::truth::{self, Login};
use crate::world::World;

/// How many logins a list tells of.
const MOST: usize = 100;

/// The latest logins, the newest first.
#[get("/api/logins")]
pub(super) async fn list(world: &State<Arc<World>>) -> Json<Vec<Login>> {
    let mut logins = Vec::new();
    for login in world.watch.logbook.logins(MOST) {
        logins.extend(truth::login(world, &login).await);
    }
    Json(logins)
}

#[get("/api/logins/<fingerprint>")]
pub(super) async fn one(
    fingerprint: &str,
    world: &State<Arc<World>>,
) -> Result<Json<Login>, Refused> {
    let login = truth::login(world, fingerprint).await;
    login.map(Json).ok_or_else(|| {
        Refused::missing("no event tells of this login; GET /api/logins lists those that there are")
    })
}
