//! The stack as a whole: its addresses, its reset, and its clock, which never goes back,
//! except by a reset.

use std::sync::Arc;

use rocket::form::Form;
use rocket::response::Redirect;
use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::{FromForm, Route, State, get, post, routes};
use serde::{Deserialize, Serialize};

use super::call_list::{Call, calls};
use crate::control_error::ControlError;
use crate::request::{JsonBody, RedirectBack, ReturnPath};
use crate::runtime::StackRuntime;

pub(super) fn calls() -> Vec<Call> {
    calls! {
        stack => "The addresses of all servers.";
        clock => "The time of the stack.";
        advance, r#"{"seconds":600}"# => "Moves the clock ahead.";
    }
}

/// The reset, which comes last in the list of calls.
pub(super) fn reset_call() -> Vec<Call> {
    calls! {
        reset => "Starts again, with an empty store; projects stay.";
    }
}

pub(super) fn forms() -> Vec<Route> {
    routes![reset_form, advance_form]
}

/// The URLs of the stack.
#[get("/api/stack")]
fn stack(runtime: &State<Arc<StackRuntime>>) -> Json<Value> {
    let urls = &runtime.urls;
    let mut description = json!({
        "broker": urls.broker,
        "consumer": urls.consumer,
        "upstreams": { "google": urls.google, "github": urls.github },
    });
    if let Some(path) = runtime.ca_file() {
        description["ca_file"] = json!(path);
    }
    Json(description)
}

/// See [`Stack::reset`](crate::Stack::reset).
#[post("/api/reset")]
async fn reset(runtime: &State<Arc<StackRuntime>>) -> Result<NoContent, ControlError> {
    let reset = runtime.reset().await;
    reset.map(|()| NoContent).map_err(ControlError::internal)
}

/// The login on the page of the form is gone then.
#[post("/do/reset")]
async fn reset_form(runtime: &State<Arc<StackRuntime>>) -> RedirectBack {
    reset(runtime).await?;
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
fn clock(runtime: &State<Arc<StackRuntime>>) -> Json<ClockReading> {
    Json(ClockReading {
        now: runtime.clock.now_ms().div_euclid(1000),
        advanced_seconds: seconds(runtime.clock.advanced_ms()),
    })
}

#[post("/api/clock/advance", data = "<advance>")]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a body by value"
)]
fn advance(
    advance: JsonBody<Advance>,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<ClockReading>, ControlError> {
    let advanced = runtime.clock.advance_seconds(advance.0.seconds);
    advanced.map_err(ControlError::bad_request)?;
    Ok(clock(runtime))
}

#[post("/do/advance", data = "<form>")]
fn advance_form(
    form: Form<Advance>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    advance(JsonBody(form.into_inner()), runtime)?;
    back.redirect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ten years of milliseconds fit 53 bits"
)]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}
