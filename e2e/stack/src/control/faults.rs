//! Faults: arm, list and disarm them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::{State, delete, get, post};
use serde::Deserialize;

use super::json_body::JsonBody;
use super::projects::find_project;
use crate::control_error::{ControlError, parse_field};
use crate::faults::{ArmedFault, Fault, FaultAnswer, FaultInjection, HeldCall, MalformedAnswer};
use crate::projects::ProjectRegistry;
use crate::runtime::StackRuntime;

/// Longer than any client waits.
const MAX_DELAY_MS: u64 = 600_000;

/// The limit for a body: that of an [`FaultAnswer`], with every byte escaped.
const MAX_BODY_KIB: u64 = 512;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewFault {
    operation: String,
    fault: String,
    #[serde(default = "next_call")]
    nth: u32,
    #[serde(default)]
    sticky: bool,
    client_id: Option<String>,
    delay_ms: Option<u64>,
    answer: Option<NewAnswer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewAnswer {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

fn next_call() -> u32 {
    1
}

#[post("/api/faults", data = "<new>")]
pub(super) fn arm(
    new: JsonBody<NewFault, { MAX_BODY_KIB }>,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<(Status, Json<Value>), ControlError> {
    let injection = new.0.parse(&runtime.projects)?;
    let mut armed = json!({
        "id": null,
        "operation": injection.operation.name(),
        "fault": injection.fault.name(),
        "client_id": injection.client_id,
        "nth": injection.nth,
        "sticky": injection.sticky,
    });
    armed["id"] = runtime.faults().arm(injection).into();
    Ok((Status::Created, Json(armed)))
}

impl NewFault {
    fn parse(self, projects: &ProjectRegistry) -> Result<FaultInjection, ControlError> {
        let fault: Fault = parse_field("fault", &self.fault)?;
        if self.nth == 0 {
            return Err(ControlError::bad_request("nth: 1 is the next call"));
        }
        let next = FaultInjection::next(parse_field("operation", &self.operation)?, fault);
        let client_id = find_project(projects, self.client_id.as_deref())?;
        if client_id.is_some() && !next.operation.has_project() {
            return Err(ControlError::bad_request(format!(
                "client_id: a call of {} belongs to no project; leave it out",
                next.operation
            )));
        }
        Ok(FaultInjection {
            nth: self.nth,
            sticky: self.sticky,
            client_id,
            delay: match self.delay_ms {
                Some(ms) => parse_delay(ms, fault)?,
                None => next.delay,
            },
            answer: match self.answer {
                Some(answer) => answer.parse_for(fault)?,
                None => next.answer,
            },
            ..next
        })
    }
}

impl NewAnswer {
    fn parse_for(self, fault: Fault) -> Result<FaultAnswer, ControlError> {
        if fault != Fault::Answer {
            return Err(ControlError::bad_request(
                "answer belongs to the fault answer alone",
            ));
        }
        let parsed = self.parse();
        parsed.map_err(|error| ControlError::bad_request(format!("answer.{error}")))
    }

    fn parse(self) -> Result<FaultAnswer, MalformedAnswer> {
        let mut headers = self.headers.iter();
        let answer = FaultAnswer::new(self.status, self.body)?;
        headers.try_fold(answer, |answer, (name, value)| answer.header(name, value))
    }
}

fn parse_delay(ms: u64, fault: Fault) -> Result<Duration, ControlError> {
    match fault {
        Fault::Delay if ms <= MAX_DELAY_MS => Ok(Duration::from_millis(ms)),
        Fault::Delay => Err(ControlError::bad_request(format!(
            "delay_ms: at most {MAX_DELAY_MS}, in milliseconds"
        ))),
        _ => Err(ControlError::bad_request(
            "delay_ms belongs to the fault delay alone",
        )),
    }
}

#[get("/api/faults")]
pub(super) fn armed(runtime: &State<Arc<StackRuntime>>) -> Json<Vec<ArmedFault>> {
    Json(runtime.faults().armed())
}

/// Disarms one fault.
#[delete("/api/faults/<id>")]
pub(super) fn disarm(
    id: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<NoContent, ControlError> {
    match id.parse().is_ok_and(|id| runtime.faults().disarm(id)) {
        true => Ok(NoContent),
        false => Err(ControlError::not_found(
            "id: no armed fault has this number; GET /api/faults lists them",
        )),
    }
}

#[delete("/api/faults")]
pub(super) fn clear(runtime: &State<Arc<StackRuntime>>) -> NoContent {
    runtime.faults().clear();
    NoContent
}

#[get("/api/held")]
pub(super) fn held(runtime: &State<Arc<StackRuntime>>) -> Json<Vec<HeldCall>> {
    Json(runtime.faults().held())
}

#[delete("/api/held/<id>")]
pub(super) fn let_go(
    id: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<NoContent, ControlError> {
    match id.parse().is_ok_and(|id| runtime.faults().let_go(id)) {
        true => Ok(NoContent),
        false => Err(ControlError::not_found(NOT_HELD)),
    }
}

/// The message about a call that waits no longer.
pub(crate) const NOT_HELD: &str =
    "id: no call with this number is held; GET /api/held lists those that are";
