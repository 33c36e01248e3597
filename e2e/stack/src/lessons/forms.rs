//! The forms of the lessons. As the other forms of the pages they redirect back, and the
//! guard of the control address refuses those of other origins.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a form by value"
)]

use std::sync::Arc;

use broker::relay::RelayGuard;
use contract::ClientId;
use mock_upstream::{Mode, Provider};
use rocket::form::Form;
use rocket::response::Redirect;
use rocket::{FromForm, State, post};

use super::attacker;
use super::lesson::LESSONS;
use super::progress::LessonRun;
use crate::control_error::ControlError;
use crate::facts::LoginFlow;
use crate::request::{RedirectBack, ReturnPath};
use crate::runtime::StackRuntime;

#[derive(FromForm)]
pub(super) struct BeginForm<'r> {
    lesson: &'r str,
}

/// Begins a lesson: the providers show their pages, and nothing is armed.
#[post("/do/lesson", data = "<form>")]
pub(super) fn begin(form: Form<BeginForm<'_>>, runtime: &State<Arc<StackRuntime>>) -> RedirectBack {
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
    if let Ok(demo) = demo(runtime) {
        let set = runtime.projects.set_relay_guard(&demo, RelayGuard::Auto);
        set.map_err(ControlError::internal)?;
    }
    let run = LessonRun::begin(runtime.event_log());
    Ok(Redirect::to(run.path(&lesson.id, None)))
}

#[derive(FromForm)]
pub(super) struct GuardForm<'r> {
    guard: &'r str,
}

/// Sets the relay guard of the demo's project.
#[post("/do/guard", data = "<form>")]
pub(super) fn set_guard(
    form: Form<GuardForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let all = [RelayGuard::Auto, RelayGuard::Always, RelayGuard::Off];
    let guard = all.into_iter().find(|guard| guard.as_str() == form.guard);
    let guard = guard.ok_or_else(|| ControlError::bad_request("guard: auto, always or off"))?;
    let set = runtime.projects.set_relay_guard(&demo(runtime)?, guard);
    set.map_err(ControlError::internal)?;
    back.redirect()
}

#[derive(FromForm)]
pub(super) struct AttackForm<'r> {
    flow: &'r str,
}

/// Starts a login at the demo, as the attacker.
#[post("/do/attack", data = "<form>")]
pub(super) async fn attack(
    form: Form<AttackForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    let flow = match form.flow {
        "clean" => LoginFlow::Clean,
        "legacy" => LoginFlow::Legacy,
        _ => return Err(ControlError::bad_request("flow: clean or legacy")),
    };
    attacker::start(runtime, flow).await?;
    back.redirect()
}

#[derive(FromForm)]
pub(super) struct ReadForm<'r> {
    login: &'r str,
}

/// Comes back to the demo's callback, as the attacker.
#[post("/do/attack/read", data = "<form>")]
pub(super) async fn read_as_attacker(
    form: Form<ReadForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &State<Arc<StackRuntime>>,
) -> RedirectBack {
    attacker::read(runtime, form.login).await?;
    back.redirect()
}

/// The id of the demo's project.
pub(super) fn demo(runtime: &StackRuntime) -> Result<ClientId, ControlError> {
    let demo = runtime.projects.find("demo");
    demo.map_err(|_| ControlError::not_found("this sandbox has no demo"))
}
