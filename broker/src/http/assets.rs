//! `GET /style.css` and `GET /question.js`.

use rocket::get;
use rocket::response::content::{RawCss, RawJavaScript};

/// The stylesheet of every page.
#[get("/style.css")]
pub(super) fn style() -> RawCss<&'static str> {
    RawCss(include_str!("../../templates/style.css"))
}

/// The script that keeps Continue from being pressed by mistake.
#[get("/question.js")]
pub(super) fn script() -> RawJavaScript<&'static str> {
    RawJavaScript(include_str!("../../templates/question.js"))
}
