//! The lessons of the control address: ten small exercises, each with steps that the
//! events of the stack tick off.
//!
//! | module | contents |
//! |---|---|
//! | `catalogue` | the ten lessons, as data |
//! | `lesson` | what a lesson consists of: steps, buttons and ticks |
//! | `fact` | the events since a lesson began, with what a tick asks about them |
//! | `progress` | the steps that are done, and the login that counts |
//! | `run` | the beginning of a lesson, which its address carries |
//! | `page`, `step_view` | the list of lessons, and the page of one |
//! | `forms` | the buttons *Begin*, and those of the relay guard and the attacker |
//! | `attacker`, `demo_client` | the attacker of the relay lesson, and their client of the demo |
//! | `attacker_desk` | the attacks, as the page shows them |
//!
//! The stack keeps nothing about a student but the attacker's cookies: the address of a
//! lesson says where it began, and everything else follows from the events since then.

mod attacker;
mod attacker_desk;
mod catalogue;
mod demo_client;
mod fact;
mod forms;
mod lesson;
mod page;
mod progress;
mod run;
mod step_view;
#[cfg(test)]
mod tests;

use rocket::{Route, routes};

pub(crate) use attacker::Attacker;

/// The routes of the lessons and their forms.
pub(crate) fn routes() -> Vec<Route> {
    routes![
        page::list,
        page::lesson,
        page::style,
        page::script,
        forms::begin,
        forms::set_guard,
        forms::attack,
        forms::read_as_attacker,
    ]
}
