//! The status of logins.

use std::sync::Arc;

use rocket::serde::json::Json;
use rocket::{State, get};

use crate::control_error::ControlError;
use crate::login_status::{self, LoginStatus};
use crate::runtime::StackRuntime;

/// The number of logins in the list.
const MAX_LOGINS: usize = 100;

/// The latest logins, newest first.
#[get("/api/logins")]
pub(super) async fn list(runtime: &State<Arc<StackRuntime>>) -> Json<Vec<LoginStatus>> {
    let mut logins = Vec::new();
    for login in runtime.event_log().logins(MAX_LOGINS) {
        logins.extend(login_status::of(runtime, &login).await);
    }
    Json(logins)
}

#[get("/api/logins/<fingerprint>")]
pub(super) async fn one(
    fingerprint: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<LoginStatus>, ControlError> {
    let status = login_status::of(runtime, fingerprint).await;
    status.map(Json).ok_or_else(|| {
        ControlError::not_found(
            "no event mentions this login; GET /api/logins lists the known ones",
        )
    })
}
