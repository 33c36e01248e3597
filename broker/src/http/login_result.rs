//! `POST /v1/login/result`.

use contract::{LoginResult, LoginResultRequest};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::Trace;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::audit::Step;
use crate::model::LoginId;
use crate::model::login_session::{Ask, LoginOutcome, StillPending};
use crate::store::ResultRead;

#[post("/v1/login/result", data = "<request>")]
pub(super) async fn read(
    request: Authenticated<LoginResultRequest>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<LoginResult>, Refusal> {
    trace.login(&LoginId::of_key(&request.session_key));
    match broker
        .store
        .consume_result(Ask::of(&request), broker.now())
        .await?
    {
        ResultRead::Pending(StillPending) => Ok(Json(LoginResult::Pending)),
        ResultRead::Refused(rule) => Err(rule.into()),
        ResultRead::Outcome(outcome) => {
            trace.committed(Step::ResultConsumed);
            Ok(Json(match outcome {
                LoginOutcome::Succeeded(profile) => LoginResult::Succeeded { profile },
                LoginOutcome::Failed(error) => LoginResult::Failed { error },
            }))
        }
    }
}
