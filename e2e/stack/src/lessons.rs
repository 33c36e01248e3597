//! The lessons of the control address: ten small exercises, each with steps that the
//! events of the stack tick off.
//!
//! | module | contents |
//! |---|---|
//! | `lesson`, `catalogue.toml` | the ten lessons, as data: steps, buttons and ticks |
//! | `progress` | the steps that are done, by the events since a lesson began |
//! | `page`, `step_view` | the list of lessons, and the page of one |
//! | `forms` | the buttons *Begin*, and those of the relay guard and the attacker |
//! | `attacker` | the attacker of the relay lesson, and the attacks as the page shows them |
//!
//! The stack keeps nothing about a student but the attacker's cookies: the address of a
//! lesson says where it began, and everything else follows from the events since then.

mod attacker;
mod forms;
mod lesson;
mod page;
mod progress;
mod step_view;
#[cfg(test)]
mod tests;

use rocket::{Route, routes};

/// The routes of the lessons and their forms.
pub(crate) fn routes() -> Vec<Route> {
    routes![
        page::list,
        page::lesson,
        page::style,
        forms::begin,
        forms::set_guard,
        forms::attack,
        forms::read_as_attacker,
    ]
}
