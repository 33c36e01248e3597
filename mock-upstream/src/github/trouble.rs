//! What goes wrong at the REST API.

use serde_json::{Map, Value, json};

use super::api::Refusal;
use crate::answer::{Answer, Delivery};
use crate::spoil::first_half;
use crate::{Misbehaviour, Provider, pages};

const LIMITS: &str = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";

/// The answer of `/user`.
pub(super) fn user(misbehaviour: Option<Misbehaviour>, mut account: Map<String, Value>) -> Answer {
    use Misbehaviour as M;
    match misbehaviour {
        Some(M::RateLimited) => primary_limit(403),
        Some(M::RateLimitedRetryAfter) => primary_limit(429).with("retry-after", "60"),
        Some(M::SecondaryLimit) => secondary_limit(),
        Some(M::SecondaryLimitRetryAfter) => secondary_limit().with("retry-after", "60"),
        Some(M::ProfileRefused) => Refusal::BadToken.answer(),
        Some(M::ProfileGarbage) => first_half(Answer::json(200, &account)),
        Some(M::Profile502) => Answer::json(502, &json!({ "message": "Server Error" })),
        Some(M::ProfileTimeout) => Answer::json(200, &account).delivered(Delivery::Silence),
        Some(M::IdAbsent) => {
            account.remove("id");
            Answer::json(200, &account)
        }
        Some(M::IdText) => {
            let id = account["id"].to_string();
            account.insert("id".to_owned(), id.into());
            Answer::json(200, &account)
        }
        _ => Answer::json(200, &account),
    }
}

/// The answer of `/user/emails`.
pub(super) fn emails(misbehaviour: Option<Misbehaviour>, page: Answer) -> Answer {
    match misbehaviour {
        Some(Misbehaviour::EmailsGarbage) => first_half(page),
        Some(Misbehaviour::Emails503) => pages::server_error(Provider::GitHub, 503),
        _ => page,
    }
}

/// The hour's calls are used up.
pub(super) fn primary_limit(status: u16) -> Answer {
    let message = "API rate limit exceeded for user ID 9000001.";
    limited(status, message, LIMITS).with("x-ratelimit-remaining", "0")
}

/// Too many at once; of the hour's calls most are left.
fn secondary_limit() -> Answer {
    let message = "You have exceeded a secondary rate limit. \
                   Please wait a few minutes before you try again.";
    let documentation = format!("{LIMITS}#about-secondary-rate-limits");
    limited(403, message, &documentation).with("x-ratelimit-remaining", "4990")
}

fn limited(status: u16, message: &str, documentation: &str) -> Answer {
    let body = json!({
        "message": message,
        "documentation_url": documentation,
        "status": status.to_string(),
    });
    Answer::json(status, &body)
}
