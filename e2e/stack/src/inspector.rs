//! The pages of the control address: every login drawn as it happens, and why it
//! went as it went. The server draws; the small script only asks again when
//! something has happened, so that all of it works without, and by keyboard.
//!
//! | module | what lives there |
//! |---|---|
//! | `story` | what happened, row by row; pure |
//! | `layout`, `diagram` | the same as a picture |
//! | `view`, `exchange` | what the page tells of logins, and of one exchange |
//! | `page` | the pages |
//! | `desk` | the forms: clock, misbehaviours, faults, a new world |
//! | `words` | plain words for all of it |
//!
//! Nothing here sees a secret: the logbook is masked before it is written.

mod assets;
mod desk;
mod diagram;
mod exchange;
mod layout;
mod page;
mod story;
mod view;
mod words;

use rocket::{Route, routes};

/// The pages, their forms, and what they are made of.
pub(crate) fn routes() -> Vec<Route> {
    routes![
        page::newest,
        page::login,
        page::others,
        page::picture,
        desk::advance,
        desk::reset,
        desk::misbehave,
        desk::strike,
        desk::clear,
        assets::style,
        assets::diagram_style,
        assets::script,
        assets::icon,
    ]
}
