//! The guide to an app of one's own: `GET /api/manifest` for programs, `GET /llms.txt` for coding
//! agents and people.

use rocket::get;
use rocket::response::content::RawText;
use rocket::serde::json::{Json, Value, json};

use super::call_list::{AllCalls, Call, calls};
use crate::guide;
use crate::request::Runtime;

pub(super) fn calls() -> Vec<Call> {
    calls! {
        manifest => "All that the maker of an app needs: flows, rules, calls, and this stack's values.";
    }
}

#[get("/api/manifest")]
fn manifest(runtime: &Runtime, calls: AllCalls<'_>) -> Json<Value> {
    let calls = calls.0.into_iter().map(|it| {
        let body: Option<Value> = serde_json::from_str(it.body()).ok();
        json!({ "method": it.method(), "path": it.path(), "body": body, "says": it.sentence })
    });
    Json(guide::manifest(runtime, &calls.collect()))
}

/// The same on two pages.
#[get("/llms.txt")]
pub(super) fn text(runtime: &Runtime, calls: AllCalls<'_>) -> RawText<String> {
    RawText(guide::text(&manifest(runtime, calls)))
}
