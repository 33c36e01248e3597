//! The misbehaviours of the REST API.

use serde_json::{Map, Value, json};

use super::api::Refusal;
use super::rate_limit::{primary_limit, secondary_limit};
use crate::http::{Delivery, Response};
use crate::provider::corrupt::first_half;
use crate::provider::pages;
use crate::{Misbehaviour, Provider};

/// The response of `/user`.
pub(super) fn user(
    misbehaviour: Option<Misbehaviour>,
    mut account: Map<String, Value>,
) -> Response {
    use Misbehaviour as M;
    match misbehaviour {
        Some(M::RateLimited) => primary_limit(403),
        Some(M::RateLimitedRetryAfter) => primary_limit(429).with_header("retry-after", "60"),
        Some(M::SecondaryLimit) => secondary_limit(),
        Some(M::SecondaryLimitRetryAfter) => secondary_limit().with_header("retry-after", "60"),
        Some(M::ProfileRefused) => Refusal::BadToken.response(),
        Some(M::ProfileGarbage) => first_half(Response::json(200, &account)),
        Some(M::Profile502) => Response::json(502, &json!({ "message": "Server Error" })),
        Some(M::ProfileTimeout) => Response::json(200, &account).with_delivery(Delivery::Silence),
        Some(M::IdAbsent) => {
            account.remove("id");
            Response::json(200, &account)
        }
        Some(M::IdText) => {
            let id = account["id"].to_string();
            account.insert("id".to_owned(), id.into());
            Response::json(200, &account)
        }
        _ => Response::json(200, &account),
    }
}

/// The response of `/user/emails`.
pub(super) fn emails(misbehaviour: Option<Misbehaviour>, page: Response) -> Response {
    match misbehaviour {
        Some(Misbehaviour::EmailsGarbage) => first_half(page),
        Some(Misbehaviour::Emails503) => pages::server_error(Provider::GitHub, 503),
        _ => page,
    }
}
