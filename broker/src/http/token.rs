//! The legacy flow's exchange: `POST /v1/token`.

use contract::{AccessToken, Rule, TokenRequest, TokenResponse};
use rocket::serde::json::Json;
use rocket::{State, post};

use super::context::Trace;
use super::request::authenticated::Authenticated;
use super::response::refusal::Refusal;
use crate::Broker;
use crate::audit::Step;
use crate::model::grant::Redemption;
use crate::random;
use crate::store::Redeemed;

#[post("/v1/token", data = "<request>")]
pub(super) async fn redeem(
    request: Authenticated<TokenRequest>,
    broker: &State<Broker>,
    trace: &Trace,
) -> Result<Json<TokenResponse>, Refusal> {
    let token = AccessToken::from_random(&random::bytes32());
    let now = broker.now();
    let redemption = Redemption::of(&request, &request.project.client_id, token.digest(), now);
    match broker.store.redeem(redemption, now).await? {
        Redeemed::Token(login) => {
            trace.login(&login);
            trace.committed(Step::CodeRedeemed);
            Ok(Json(TokenResponse::issuing(token)))
        }
        Redeemed::Refused(rule, login) => {
            if let Some(login) = login {
                trace.login(&login);
            }
            if rule == Rule::CodeOnce {
                // It ended the token of the first.
                trace.committed(Step::TokenRevoked);
            }
            Err(rule.into())
        }
    }
}
