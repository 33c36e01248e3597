//! The lessons of the control address: twelve small exercises, each with steps that acts and
//! answers tick off.
//!
//! | module | contents |
//! |---|---|
//! | `lesson`, `catalogue.toml` | the lessons, as data: steps, buttons, questions and ticks |
//! | `progress` | the steps that are done, by the events since a lesson began and the answers |
//! | `page`, `step_view` | the list of lessons, and the page of one |
//! | `diagram` | the diagram beside the steps |
//! | `attacker` | the attacker of some lessons, and the attacks as the page shows them |
//!
//! Here are their forms. As the other forms of the pages they redirect back, and the guard of
//! the control address refuses those of other origins.
//!
//! The stack keeps nothing about a student but the attacker's cookies and pages: the address of
//! a lesson says where it began and what was answered, everything else follows from the events
//! since then, and the browser remembers which lessons are done.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a form by value"
)]

mod attacker;
mod diagram;
mod lesson;
mod page;
mod progress;
mod step_view;
#[cfg(test)]
mod tests;

use broker::relay::RelayGuard;
use mock_upstream::{Mode, Provider};
use rocket::form::Form;
use rocket::http::ContentType;
use rocket::{FromForm, Route, State, post, routes};

use crate::facts::LoginFlow;
use crate::page::asset;
use crate::request::{ControlError, RedirectBack, ReturnPath, Runtime};
pub(crate) use attacker::Attacks;
pub(crate) use lesson::CATALOGUE;

/// The style of the demo's pages in the attacker's browser, without what the stack adds to them.
const DEMO_STYLE: &str = concat!(
    include_str!("../../../consumer-demo/static/style.css"),
    ".kit-panel, .kit-strip, .skip { display: none; }"
);

/// The routes of the lessons and their forms.
pub(crate) fn routes() -> Vec<Route> {
    let style = include_str!("../static/lessons.css");
    let script = include_str!("../static/lessons.js");
    let pages = routes![
        page::list,
        page::lesson,
        clear,
        set_guard,
        attack,
        come_back
    ];
    let assets = [
        asset("/lessons.css", ContentType::CSS, style),
        asset("/lessons.js", ContentType::JavaScript, script),
        asset("/demo.css", ContentType::CSS, DEMO_STYLE),
    ];
    pages.into_iter().chain(assets).collect()
}

/// Makes the stack ready for a lesson: the providers show their pages, and nothing is armed.
#[post("/do/lesson")]
fn clear(back: ReturnPath<'_>, runtime: &Runtime) -> RedirectBack {
    for provider in Provider::ALL {
        let upstream = runtime.upstream.provider(provider);
        upstream.clear_queue();
        upstream.set_mode(Mode::Interactive);
    }
    runtime.faults().clear();
    if let Ok(demo) = attacker::demo(runtime) {
        let set = runtime.projects.set_relay_guard(&demo, RelayGuard::Auto);
        set.map_err(ControlError::internal)?;
    }
    back.redirect()
}

#[derive(FromForm)]
struct GuardForm<'r> {
    guard: &'r str,
}

/// Sets the relay guard of the demo's project.
#[post("/do/guard", data = "<form>")]
fn set_guard(form: Form<GuardForm<'_>>, back: ReturnPath<'_>, runtime: &Runtime) -> RedirectBack {
    let mut guards = attacker::GUARDS.into_iter();
    let guard = guards.find(|guard| guard.as_str() == form.guard);
    let guard = guard.ok_or_else(|| ControlError::bad_request("guard: auto, always or off"))?;
    let demo = attacker::demo(runtime)?;
    let set = runtime.projects.set_relay_guard(&demo, guard);
    set.map_err(ControlError::internal)?;
    back.redirect()
}

#[derive(FromForm)]
struct AttackForm {
    flow: LoginFlow,
}

/// Starts a login at the demo, as the attacker.
#[post("/do/attack", data = "<form>")]
async fn attack(
    form: Form<AttackForm>,
    back: ReturnPath<'_>,
    attacks: &State<Attacks>,
    runtime: &Runtime,
) -> RedirectBack {
    attacks.start(runtime, form.flow).await?;
    back.redirect()
}

#[derive(FromForm)]
struct ReturnForm<'r> {
    /// The newest login without it.
    login: Option<&'r str>,
    /// Whether the attacker makes up a code and a state.
    forged: bool,
}

/// Comes back to the demo's callback, as the attacker.
#[post("/do/attack/read", data = "<form>")]
async fn come_back(
    form: Form<ReturnForm<'_>>,
    back: ReturnPath<'_>,
    attacks: &State<Attacks>,
    runtime: &Runtime,
) -> RedirectBack {
    attacks.come_back(runtime, form.login, form.forged).await?;
    back.redirect()
}
