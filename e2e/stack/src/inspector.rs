//! The pages of the control address: every login as a sequence diagram, live, with the
//! reason for each refusal. The server renders the pages; a small script only reloads
//! them when an event arrives, so that everything also works without scripts and by
//! keyboard.
//!
//! | module | contents |
//! |---|---|
//! | `page` | the pages, and the list of logins |
//! | `sequence_view`, `exchange_view` | the sequence of one login, and one of its exchanges |
//! | `present` | the presenter's view: one arrow at a time, with a sentence |
//! | `tools` | the state of the clock, misbehaviours and faults |
//! | `diagram`, `layout` | the sequence diagram as SVG |
//! | `sequence`, `rows` | the rows of the diagram, computed from events |
//!
//! The pages show no secret, because the event log masks what it returns.

mod curl;
mod diagram;
mod exchange_view;
mod layout;
mod page;
mod present;
mod rows;
mod sequence;
mod sequence_view;
mod tools;

use rocket::http::ContentType;
use rocket::{Route, get, routes};

use crate::page::Asset;

/// The routes of the pages and their assets.
pub(crate) fn routes() -> Vec<Route> {
    routes![
        page::newest,
        page::login,
        page::others,
        page::diagram_file,
        present::page,
        style,
        diagram_style,
        present_style,
        script,
        icon,
        favicon,
    ]
}

#[get("/inspector.css")]
fn style() -> Asset {
    (ContentType::CSS, include_str!("../static/inspector.css"))
}

#[get("/diagram.css")]
fn diagram_style() -> Asset {
    (ContentType::CSS, diagram::STYLE)
}

#[get("/present.css")]
fn present_style() -> Asset {
    (ContentType::CSS, include_str!("../static/present.css"))
}

#[get("/live.js")]
fn script() -> Asset {
    (ContentType::JavaScript, include_str!("../static/live.js"))
}

#[get("/icon.svg")]
fn icon() -> Asset {
    (ContentType::SVG, include_str!("../static/icon.svg"))
}

/// The icon where a browser looks for one by itself, as beside a JSON answer.
#[get("/favicon.ico")]
fn favicon() -> Asset {
    icon()
}
