//! Faults: arm, list and disarm them, and let the calls go that they hold.

use std::collections::BTreeMap;
use std::time::Duration;

use rocket::form::Form;
use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::{FromForm, Route, delete, get, post, routes};
use serde::Deserialize;

use super::call_list::{Call, calls};
use super::stack::find_project;
use crate::faults::{ArmedFault, Fault, FaultAnswer, FaultInjection, HeldCall, MalformedAnswer};
use crate::projects::ProjectRegistry;
use crate::request::{ControlError, JsonBody, RedirectBack, ReturnPath, Runtime, parse_field};

/// Longer than any client waits.
const MAX_DELAY_MS: u64 = 600_000;

/// The limit for a body: that of an [`FaultAnswer`], with every byte escaped.
const MAX_BODY_KIB: u64 = 512;

pub(super) fn calls() -> Vec<Call> {
    calls! {
        arm, r#"{"operation":"POST /v1/login/result","fault":"lose_response"}"# => "Arms a fault; with client_id, for that project alone; the fault answer takes an answer with status, headers and body.";
        kinds => "The faults that there are: what the client gets, and what the broker does.";
        armed => "The armed faults.";
        disarm => "Disarms one fault.";
        clear => "Disarms all faults.";
        held => "The calls that hold_request or hold_response holds.";
        let_go => "Lets one of them go.";
    }
}

pub(super) fn forms() -> Vec<Route> {
    routes![arm_form, disarm_form, clear_form, let_go_form]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewFault {
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
fn arm(
    new: JsonBody<NewFault, { MAX_BODY_KIB }>,
    runtime: &Runtime,
) -> Result<(Status, Json<Value>), ControlError> {
    let injection = new.0.parse(&runtime.projects)?;
    let armed = json!({
        "id": runtime.faults().arm(injection.clone()),
        "operation": injection.operation.name(),
        "fault": injection.fault.name(),
        "client_id": injection.client_id,
        "nth": injection.nth,
        "sticky": injection.sticky,
    });
    Ok((Status::Created, Json(armed)))
}

#[derive(FromForm)]
struct FaultForm {
    operation: String,
    fault: String,
}

/// Arms a fault at the next call of an operation.
#[post("/do/strike", data = "<form>")]
fn arm_form(form: Form<FaultForm>, back: ReturnPath<'_>, runtime: &Runtime) -> RedirectBack {
    let FaultForm { operation, fault } = form.into_inner();
    let new = NewFault {
        operation,
        fault,
        nth: next_call(),
        sticky: false,
        client_id: None,
        delay_ms: None,
        answer: None,
    };
    arm(JsonBody(new), runtime)?;
    back.redirect()
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

#[get("/api/fault-kinds")]
fn kinds() -> Json<Vec<Value>> {
    let kind =
        |it: &Fault| json!({ "name": it.name(), "client": it.client(), "broker": it.broker() });
    Json(Fault::ALL.iter().map(kind).collect())
}

#[get("/api/faults")]
fn armed(runtime: &Runtime) -> Json<Vec<ArmedFault>> {
    Json(runtime.faults().armed())
}

/// Disarms one fault.
#[delete("/api/faults/<id>")]
fn disarm(id: &str, runtime: &Runtime) -> Result<NoContent, ControlError> {
    let is_done = id.parse().is_ok_and(|id| runtime.faults().disarm(id));
    no_content(is_done, "armed fault", "GET /api/faults")
}

/// 204 if it is done; else the refusal that there is no such `what`, and `list` names those there are.
fn no_content(is_done: bool, what: &str, list: &str) -> Result<NoContent, ControlError> {
    let problem =
        || ControlError::not_found(format!("id: no {what} has this number; {list} lists them"));
    is_done.then_some(NoContent).ok_or_else(problem)
}

#[delete("/api/faults")]
fn clear(runtime: &Runtime) -> NoContent {
    runtime.faults().clear();
    NoContent
}

#[derive(FromForm)]
struct IdForm {
    id: u64,
}

/// Disarms one fault, if it has not triggered.
#[post("/do/disarm", data = "<form>")]
fn disarm_form(form: Form<IdForm>, back: ReturnPath<'_>, runtime: &Runtime) -> RedirectBack {
    runtime.faults().disarm(form.into_inner().id);
    back.redirect()
}

#[post("/do/clear")]
fn clear_form(back: ReturnPath<'_>, runtime: &Runtime) -> RedirectBack {
    clear(runtime);
    back.redirect()
}

#[get("/api/held")]
fn held(runtime: &Runtime) -> Json<Vec<HeldCall>> {
    Json(runtime.faults().held())
}

#[delete("/api/held/<id>")]
fn let_go(id: &str, runtime: &Runtime) -> Result<NoContent, ControlError> {
    let is_done = id.parse().is_ok_and(|id| runtime.faults().let_go(id));
    no_content(is_done, "held call", "GET /api/held")
}

#[post("/do/let-go", data = "<form>")]
fn let_go_form(form: Form<IdForm>, back: ReturnPath<'_>, runtime: &Runtime) -> RedirectBack {
    let_go(&form.into_inner().id.to_string(), runtime)?;
    back.redirect()
}
