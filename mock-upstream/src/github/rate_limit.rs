//! The rate limits of the REST API: the hourly count, and the responses beyond a limit.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::json;

use crate::http::Response;

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The maximum number of users; at one more, all counts start again.
const MAX_USERS: usize = 10_000;

const DOCUMENTATION: &str =
    "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";

/// The calls of each user, by id.
pub(super) struct RateLimit(Mutex<HashMap<String, HourlyCalls>>);

/// The calls of one user within the hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HourlyCalls {
    pub(super) used: u32,
    /// The time at which the count starts again.
    pub(super) resets_ms: i64,
}

impl RateLimit {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Counts one more call of the user, and returns the count with it.
    pub(super) fn count(&self, user_id: &str, now_ms: i64) -> HourlyCalls {
        let mut users = self.lock();
        if users.len() == MAX_USERS {
            users.clear();
        }
        let new_hour = HourlyCalls {
            used: 0,
            resets_ms: now_ms + HOUR_MS,
        };
        let calls = users.entry(user_id.to_owned()).or_insert(new_hour);
        if now_ms >= calls.resets_ms {
            *calls = new_hour;
        }
        calls.used += 1;
        *calls
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HourlyCalls>> {
        self.0.lock().expect("nothing panics while it counts")
    }
}

/// The response to a call beyond the hourly limit.
pub(super) fn primary_limit(status: u16) -> Response {
    let message = "API rate limit exceeded for user ID 9000001.";
    limited(status, message, DOCUMENTATION).with_header("x-ratelimit-remaining", "0")
}

/// The response to too many calls at once, while most of the hourly calls are left.
pub(super) fn secondary_limit() -> Response {
    let message = "You have exceeded a secondary rate limit. \
                   Please wait a few minutes before you try again.";
    let documentation = format!("{DOCUMENTATION}#about-secondary-rate-limits");
    limited(403, message, &documentation).with_header("x-ratelimit-remaining", "4990")
}

fn limited(status: u16, message: &str, documentation: &str) -> Response {
    let body = json!({
        "message": message,
        "documentation_url": documentation,
        "status": status.to_string(),
    });
    Response::json(status, &body)
}
