//! The pages of the control address: every login as a sequence diagram, live, with the
//! reason for each refusal. The server renders the pages; a small script only reloads
//! them when an event arrives, so that everything also works without scripts and by
//! keyboard.
//!
//! | module | contents |
//! |---|---|
//! | `page` | the pages, and the list of logins |
//! | `sequence_view`, `exchange_view` | the sequence of one login, and one of its exchanges |
//! | `verdict` | how a login ended, in a line above its diagram |
//! | `present` | the presenter's view: one step at a time, with a sentence |
//! | `tools` | the state of the clock, misbehaviours and faults |
//! | `diagram` | the sequence diagram of a login |
//! | `sequence`, `rows` | the rows of the diagram, computed from events |
//!
//! The pages show no secret, because the event log masks what it returns.

mod curl;
mod diagram;
mod exchange_view;
mod page;
mod present;
mod rows;
mod sequence;
mod sequence_view;
mod tools;
mod verdict;

pub(crate) use diagram::{Links, Participants, in_page};
pub(crate) use rows::{Arrow, Participant, Row};
#[cfg(test)]
pub(crate) use sequence::rows;
pub(crate) use sequence_view::Sequence;

use rocket::http::ContentType;
use rocket::{Route, routes};

use crate::page::asset;

/// The routes of the pages and their assets.
pub(crate) fn routes() -> Vec<Route> {
    const ICON: &str = include_str!("../static/icon.svg");
    let style = include_str!("../static/inspector.css");
    let present_style = include_str!("../static/present.css");
    let present_script = include_str!("../static/present.js");
    let script = include_str!("../static/live.js");
    let calls_script = include_str!("../static/calls.js");
    let pages = routes![
        page::newest,
        page::login,
        page::others,
        page::diagram_file,
        present::page,
    ];
    let assets = [
        asset("/inspector.css", ContentType::CSS, style),
        asset("/diagram.css", ContentType::CSS, diagram::STYLE),
        asset("/present.css", ContentType::CSS, present_style),
        asset("/present.js", ContentType::JavaScript, present_script),
        asset("/live.js", ContentType::JavaScript, script),
        asset("/calls.js", ContentType::JavaScript, calls_script),
        asset("/icon.svg", ContentType::SVG, ICON),
        // Where a browser looks for an icon by itself, as beside a JSON answer.
        asset("/favicon.ico", ContentType::SVG, ICON),
    ];
    pages.into_iter().chain(assets).collect()
}
