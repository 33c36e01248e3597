//! The pages of the control address: every login as a sequence diagram, live, with the
//! reason for each refusal. The server renders the pages; a small script only reloads
//! them when an event arrives, so that everything also works without scripts and by
//! keyboard.
//!
//! | module | contents |
//! |---|---|
//! | `page`, `page_header` | the pages, and the links at their top |
//! | `forms` | the forms of the pages: clock, misbehaviours, faults, reset |
//! | `login_list`, `sequence_view`, `exchange_view` | the logins, the sequence of one, and one of its exchanges |
//! | `present`, `explanation` | the presenter's view: one arrow at a time, with a sentence |
//! | `tools` | the state of the clock, misbehaviours and faults |
//! | `diagram`, `layout` | the sequence diagram as SVG |
//! | `sequence` | the rows of the diagram, computed from events |
//! | `labels` | texts for times, states and steps |
//! | `assets` | style sheets and the script |
//!
//! The pages show no secret, because the event log masks what it returns.

mod assets;
mod curl;
mod diagram;
mod exchange_view;
mod explanation;
mod forms;
pub(crate) mod labels;
mod layout;
mod login_list;
mod page;
mod page_header;
mod present;
mod provider_exchange;
mod sequence;
mod sequence_view;
mod tools;

use rocket::{Route, routes};

pub(crate) use forms::ReturnPath;
pub(crate) use page_header::PageHeader;
#[cfg(test)]
pub(crate) use sequence::RedirectTarget;
pub(crate) use sequence::{Answers, CallEvents, CallOrResend, Outcome, calls, outcome};

/// The routes of the pages, their forms and their assets.
pub(crate) fn routes() -> Vec<Route> {
    routes![
        page::newest,
        page::login,
        page::others,
        page::diagram_file,
        forms::advance,
        forms::reset,
        forms::misbehave,
        forms::arm_fault,
        forms::take_back,
        forms::disarm,
        forms::clear_faults,
        forms::send_again,
        forms::let_go,
        present::page,
        present::style,
        present::script,
        assets::style,
        assets::diagram_style,
        assets::script,
        assets::event_script,
        assets::icon,
        assets::favicon,
    ]
}
