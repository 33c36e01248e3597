//! The lessons of the control address: ten small exercises, each with steps that the
//! events of the stack tick off.
//!
//! | module | contents |
//! |---|---|
//! | `lesson`, `catalogue.toml` | the ten lessons, as data: steps, buttons and ticks |
//! | `progress` | the steps that are done, by the events since a lesson began |
//! | `page`, `step_view` | the list of lessons, and the page of one |
//! | `attacker` | the attacker of the relay lesson, and the attacks as the page shows them |
//!
//! Here are their forms: the button *Begin*, and those of the relay guard and the attacker. As
//! the other forms of the pages they redirect back, and the guard of the control address
//! refuses those of other origins.
//!
//! The stack keeps nothing about a student but the attacker's cookies: the address of a
//! lesson says where it began, and everything else follows from the events since then.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a form by value"
)]

mod attacker;
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
use rocket::response::Redirect;
use rocket::{FromForm, Route, State, post, routes};

use crate::facts::LoginFlow;
use crate::page::asset;
use crate::request::{ControlError, RedirectBack, ReturnPath, Runtime};
pub(crate) use attacker::Attacks;
pub(crate) use lesson::LESSONS;
use progress::LessonRun;

/// The routes of the lessons and their forms.
pub(crate) fn routes() -> Vec<Route> {
    let style = include_str!("../static/lessons.css");
    let mut routes = routes![
        page::list,
        page::lesson,
        begin,
        set_guard,
        attack,
        read_as_attacker,
    ];
    routes.push(asset("/lessons.css", ContentType::CSS, style));
    routes
}

#[derive(FromForm)]
struct BeginForm<'r> {
    lesson: &'r str,
}

/// Begins a lesson: the providers show their pages, and nothing is armed.
#[post("/do/lesson", data = "<form>")]
fn begin(form: Form<BeginForm<'_>>, runtime: &Runtime) -> RedirectBack {
    let known = LESSONS.iter().find(|lesson| lesson.id == form.lesson);
    let lesson = known.ok_or_else(|| {
        ControlError::not_found("lesson: there is no such lesson; /lessons lists them")
    })?;
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
    let run = LessonRun::begin(runtime.event_log());
    Ok(Redirect::to(run.path(&lesson.id, None)))
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
    let set = runtime
        .projects
        .set_relay_guard(&attacker::demo(runtime)?, guard);
    set.map_err(ControlError::internal)?;
    back.redirect()
}

#[derive(FromForm)]
struct AttackForm<'r> {
    flow: &'r str,
}

/// Starts a login at the demo, as the attacker.
#[post("/do/attack", data = "<form>")]
async fn attack(
    form: Form<AttackForm<'_>>,
    back: ReturnPath<'_>,
    attacks: &State<Attacks>,
    runtime: &Runtime,
) -> RedirectBack {
    let flow = match form.flow {
        "clean" => LoginFlow::Clean,
        "legacy" => LoginFlow::Legacy,
        _ => return Err(ControlError::bad_request("flow: clean or legacy")),
    };
    attacks.start(runtime, flow).await?;
    back.redirect()
}

#[derive(FromForm)]
struct ReadForm<'r> {
    login: &'r str,
}

/// Comes back to the demo's callback, as the attacker.
#[post("/do/attack/read", data = "<form>")]
async fn read_as_attacker(
    form: Form<ReadForm<'_>>,
    back: ReturnPath<'_>,
    attacks: &State<Attacks>,
    runtime: &Runtime,
) -> RedirectBack {
    attacks.read(runtime, form.login).await?;
    back.redirect()
}
