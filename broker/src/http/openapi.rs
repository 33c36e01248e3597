//! `GET /openapi.json`.

use rocket::get;
use rocket::response::content::RawJson;

/// The contract as an OpenAPI document.
#[get("/openapi.json")]
pub(super) fn read() -> RawJson<&'static str> {
    RawJson(contract::openapi::DOCUMENT)
}
