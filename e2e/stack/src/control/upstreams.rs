//! The imitated providers: their settings, next sign-ins, misbehaviours and requests.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use mock_upstream::journal::Entry;
use mock_upstream::{Iss, Misbehaviour, Mode, Next, Provider, Upstream, User};
use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::{State, delete, get, post, put};
use serde::Deserialize;

use super::json_body::JsonBody;
use super::projects::find_project;
use crate::control_error::{ControlError, parse_field};
use crate::misbehaviour_name;
use crate::runtime::StackRuntime;

/// The switches as `PUT` takes them, so that a tool can restore what it has changed.
#[get("/api/upstreams/<provider>")]
pub(super) fn settings(
    provider: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<Value>, ControlError> {
    let upstream = find(runtime, provider)?;
    Ok(Json(json!({
        "mode": upstream.mode().name(),
        "iss": upstream.iss().name(),
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderSettings {
    mode: Option<String>,
    iss: Option<String>,
}

#[put("/api/upstreams/<provider>", data = "<settings>")]
pub(super) fn configure(
    provider: &str,
    settings: JsonBody<ProviderSettings>,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<NoContent, ControlError> {
    let upstream = find(runtime, provider)?;
    let mode: Option<Mode> = setting("mode", settings.0.mode)?;
    let iss: Option<Iss> = setting("iss", settings.0.iss)?;
    if let Some(mode) = mode {
        upstream.set_mode(mode);
    }
    if let Some(iss) = iss {
        upstream.set_iss(iss);
    }
    Ok(NoContent)
}

#[post("/api/upstreams/google/keys/rotate")]
pub(super) fn rotate_keys(runtime: &State<Arc<StackRuntime>>) -> NoContent {
    runtime.upstream.rotate_google_keys();
    NoContent
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NextSignIn {
    person: Option<Value>,
    misbehave: Option<String>,
    client_id: Option<String>,
}

#[post("/api/upstreams/<provider>/next", data = "<next>")]
pub(super) fn next(
    provider: &str,
    next: JsonBody<NextSignIn>,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<(Status, Json<Value>), ControlError> {
    let upstream = find(runtime, provider)?;
    let client_id = find_project(&runtime.projects, next.0.client_id.as_deref())?;
    let sent = (next.0.person.clone(), next.0.misbehave.clone());
    let next = next.0.parse(upstream)?;
    let id = match &client_id {
        Some(client_id) => upstream.queue_for(client_id.as_str(), next),
        None => upstream.queue(next),
    };
    let mut queued = json!({
        "id": id.map_err(ControlError::bad_request)?,
        "provider": upstream.provider().name(),
        "client_id": client_id,
    });
    match sent {
        (Some(person), _) => queued["person"] = person,
        (None, misbehave) => queued["misbehave"] = json!(misbehave),
    }
    Ok((Status::Created, Json(queued)))
}

/// Takes one planned sign-in back.
#[delete("/api/upstreams/<provider>/next/<id>")]
pub(super) fn take_back(
    provider: &str,
    id: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<NoContent, ControlError> {
    let upstream = find(runtime, provider)?;
    let removed = id.parse().ok().and_then(|id| upstream.remove_queued(id));
    removed.map(|_| NoContent).ok_or_else(|| {
        ControlError::not_found(
            "id: no planned sign-in has this number; a sign-in may have taken it",
        )
    })
}

impl NextSignIn {
    fn parse(self, upstream: &Upstream) -> Result<Next, ControlError> {
        match (self.person, self.misbehave) {
            (Some(person), None) => parse_person(person, upstream).map(Next::User),
            (None, Some(name)) => {
                misbehaviour_name::parse(upstream.provider(), &name).map(Next::Misbehave)
            }
            _ => Err(ControlError::bad_request(
                r#"send {"person":{…}} or {"misbehave":"NAME"}"#,
            )),
        }
    }
}

/// A user by the key of the sign-in page, or with all members.
fn parse_person(person: Value, upstream: &Upstream) -> Result<User, ControlError> {
    match person.get("key") {
        None => User::try_from(person).map_err(ControlError::bad_request),
        Some(Value::String(key)) if person.as_object().is_some_and(|it| it.len() == 1) => {
            let known = upstream.known_user(key);
            known.map_err(|error| ControlError::bad_request(format!("key: {error}")))
        }
        Some(_) => Err(ControlError::bad_request(
            r#"key: a string without other members, as in {"person":{"key":"ada"}}"#,
        )),
    }
}

#[get("/api/upstreams/<provider>/misbehaviours")]
pub(super) fn misbehaviours(
    provider: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<Vec<Value>>, ControlError> {
    let upstream = find(runtime, provider)?;
    let listed = |it: &Misbehaviour| {
        json!({
            "name": it.name(),
            "says": it.description(upstream.provider()),
            "error": it.error(),
        })
    };
    Ok(Json(upstream.misbehaviours().iter().map(listed).collect()))
}

#[get("/api/upstreams/<provider>/requests")]
pub(super) fn requests(
    provider: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<Vec<Entry>>, ControlError> {
    Ok(Json(find(runtime, provider)?.journal()))
}

fn find<'r>(
    runtime: &'r State<Arc<StackRuntime>>,
    name: &str,
) -> Result<&'r Upstream, ControlError> {
    let provider: Provider =
        name.parse()
            .map_err(|error: mock_upstream::settings::UnknownProvider| {
                ControlError::bad_request(error)
            })?;
    Ok(runtime.upstream.provider(provider))
}

/// Parses an optional setting; the error names it and lists its values.
fn setting<T: FromStr<Err: Display>>(
    name: &str,
    text: Option<String>,
) -> Result<Option<T>, ControlError> {
    text.map(|text| parse_field(name, &text)).transpose()
}
