//! The imitated providers: who signs in next, what goes wrong, what was asked.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use mock_upstream::journal::Entry;
use mock_upstream::{Iss, Misbehaviour, Mode, Next, Provider, Upstream, User};
use rocket::http::Status;
use rocket::serde::json::{Json, Value, json};
use rocket::{State, get, post, put};
use serde::Deserialize;

use super::answer::{Body, Done, Refused, parsed};
use crate::world::World;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switches {
    mode: Option<String>,
    iss: Option<String>,
}

#[put("/api/upstreams/<provider>", data = "<switches>")]
pub(super) fn adjust(
    provider: &str,
    switches: Body<Switches>,
    world: &State<Arc<World>>,
) -> Result<Done, Refused> {
    let upstream = find(world, provider)?;
    let mode: Option<Mode> = setting("mode", switches.0.mode)?;
    let iss: Option<Iss> = setting("iss", switches.0.iss)?;
    if let Some(mode) = mode {
        upstream.set_mode(mode);
    }
    if let Some(iss) = iss {
        upstream.set_iss(iss);
    }
    Ok(Done)
}

#[post("/api/upstreams/google/keys/rotate")]
pub(super) fn rotate_keys(world: &State<Arc<World>>) -> Done {
    world.upstream.rotate_google_keys();
    Done
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    person: Option<User>,
    misbehave: Option<String>,
}

#[post("/api/upstreams/<provider>/next", data = "<script>")]
pub(super) fn next(
    provider: &str,
    script: Body<Script>,
    world: &State<Arc<World>>,
) -> Result<Status, Refused> {
    let upstream = find(world, provider)?;
    let next = match script.0 {
        Script {
            person: Some(person),
            misbehave: None,
        } => Next::User(person),
        Script {
            person: None,
            misbehave: Some(name),
        } => {
            let misbehaviour = Misbehaviour::parse(upstream.provider(), &name)
                .map_err(|error| Refused::bad(error.to_string()))?;
            Next::Misbehave(misbehaviour)
        }
        _ => {
            return Err(Refused::bad(
                r#"send {"person":{…}} or {"misbehave":"NAME"}"#,
            ));
        }
    };
    upstream
        .queue(next)
        .map_err(|error| Refused::bad(error.to_string()))?;
    Ok(Status::Created)
}

#[get("/api/upstreams/<provider>/misbehaviours")]
pub(super) fn misbehaviours(
    provider: &str,
    world: &State<Arc<World>>,
) -> Result<Json<Vec<Value>>, Refused> {
    let upstream = find(world, provider)?;
    let says = |it: &Misbehaviour| {
        json!({
            "name": it.name(),
            "says": it.description(upstream.provider()),
            "error": it.error(),
        })
    };
    Ok(Json(upstream.misbehaviours().iter().map(says).collect()))
}

#[get("/api/upstreams/<provider>/requests")]
pub(super) fn requests(
    provider: &str,
    world: &State<Arc<World>>,
) -> Result<Json<Vec<Entry>>, Refused> {
    Ok(Json(find(world, provider)?.journal()))
}

fn find<'w>(world: &'w State<Arc<World>>, name: &str) -> Result<&'w Upstream, Refused> {
    let provider: Provider =
        name.parse()
            .map_err(|error: mock_upstream::settings::UnknownProvider| {
                Refused::bad(error.to_string())
            })?;
    Ok(world.upstream.provider(provider))
}

/// An optional switch; the error names it and lists what it may be.
fn setting<T: FromStr<Err: Display>>(
    name: &str,
    word: Option<String>,
) -> Result<Option<T>, Refused> {
    word.map(|word| parsed(name, &word)).transpose()
}
