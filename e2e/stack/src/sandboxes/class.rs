//! A class: a sandbox with a demo and lessons for each learner, and the wall that shows how far
//! everybody has come. It ends with the stack.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use askama::Template;
use rocket::form::Form;
use rocket::http::{ContentType, Status};
use rocket::response::Redirect;
use rocket::response::content::RawHtml;
use rocket::response::status::NoContent;
use rocket::serde::json::Json;
use rocket::{FromForm, Route, State, delete, get, post, routes};
use serde::{Deserialize, Serialize};

use super::api::MAX_TTL_SECONDS;
use super::{Sandbox, SandboxPlan, Sandboxes};
use crate::control::call_list::{Call, calls};
use crate::lessons::CATALOGUE;
use crate::page::{PageHeader, asset, html};
use crate::projects::ProjectRegistry;
use crate::request::{ControlError, JsonBody, RedirectBack, Runtime};
use crate::runtime::{SandboxId, StackRuntime};
use crate::settings::StackSettings;
use crate::time::StackClock;

/// The calls of programs.
pub(super) fn calls() -> Vec<Call> {
    calls! {
        start, r#"{"learners":30}"# => "Starts a sandbox with a demo and lessons for each learner; the page /class shows them.";
        list => "The learners, their addresses, and how far they have come.";
        end => "Ends the class, with every sandbox of it.";
    }
}

/// The wall, its forms and its assets.
pub(super) fn pages() -> Vec<Route> {
    let style = include_str!("../../static/class.css");
    let script = include_str!("../../static/class.js");
    let mut routes = routes![wall, start_form, end_form];
    routes.push(asset("/class.css", ContentType::CSS, style));
    routes.push(asset("/class.js", ContentType::JavaScript, script));
    routes
}

/// A learner, as the control address and a row of the wall show them.
#[derive(Serialize)]
struct Learner {
    /// The number, from 1.
    learner: usize,
    sandbox: SandboxId,
    /// The URL to hand out.
    address: String,
    /// The steps of each lesson, in the order of `/lessons`.
    lessons: Vec<Ticks>,
    /// The exercises that are solved; `None` until a program reports them.
    exercises: Option<Ticks>,
}

/// The number of parts that are done, of all.
#[derive(Serialize)]
struct Ticks {
    done: usize,
    of: usize,
}

impl Learner {
    fn new(id: SandboxId, sandbox: &Sandbox) -> Option<Self> {
        let runtime = &sandbox.stack.runtime;
        let done = runtime.lesson_steps();
        let lessons = CATALOGUE.lessons.iter().map(|lesson| Ticks {
            done: done.get(lesson.id.as_str()).copied().unwrap_or_default(),
            of: lesson.steps.len(),
        });
        Some(Self {
            learner: sandbox.learner?,
            sandbox: id,
            address: format!("{}/lessons", runtime.urls.control),
            lessons: lessons.collect(),
            exercises: runtime.practice().map(|it| Ticks {
                done: it.solved(),
                of: it.exercises.len(),
            }),
        })
    }
}

impl Sandboxes {
    fn learners(&self) -> Vec<Learner> {
        let registry = self.registry();
        let running = registry.running.iter();
        let learners = running.filter_map(|(id, it)| Learner::new(*id, it));
        learners.collect()
    }

    /// Starts a sandbox for each of `count` learners beside those of the class.
    async fn start_class(
        self: &Arc<Self>,
        count: usize,
        runtime: &StackRuntime,
    ) -> Result<(), ControlError> {
        if !(1..=self.limit).contains(&count) {
            return Err(ControlError::bad_request(format!(
                "learners: 1 to {}, the --max-sandboxes of this stack",
                self.limit
            )));
        }
        let before = self.last_learner.fetch_add(count, Ordering::Relaxed);
        for made in 0..count {
            let plan = plan(before + made + 1, &self.template);
            let started = self.start(plan, runtime.urls.control.clone()).await;
            started.map_err(|error| {
                let made = format!("{made} of {count} learners have a sandbox now");
                error.after(made)
            })?;
        }
        Ok(())
    }

    async fn end_class(&self) {
        for learner in self.learners() {
            self.end(learner.sandbox).await;
        }
        self.last_learner.store(0, Ordering::Relaxed);
    }
}

/// The sandbox of a learner, which lives through a break, and whose users choose.
fn plan(learner: usize, template: &StackSettings) -> SandboxPlan {
    SandboxPlan {
        name: Some(format!("Learner {learner}")),
        learner: Some(learner),
        lifetime: Duration::from_secs(MAX_TTL_SECONDS),
        has_demo: true,
        projects: ProjectRegistry::default(),
        settings: StackSettings {
            automatic: false,
            clock: StackClock::default(),
            ..template.clone()
        },
    }
}

/// The body of `POST /api/classes`, and the form.
#[derive(Deserialize, FromForm)]
#[serde(deny_unknown_fields)]
struct NewClass {
    learners: usize,
}

#[post("/api/classes", data = "<new>")]
async fn start(
    new: JsonBody<NewClass>,
    sandboxes: &State<Arc<Sandboxes>>,
    runtime: &Runtime,
) -> Result<(Status, Json<Vec<Learner>>), ControlError> {
    sandboxes.start_class(new.0.learners, runtime).await?;
    Ok((Status::Created, list(sandboxes)))
}

#[get("/api/classes")]
fn list(sandboxes: &State<Arc<Sandboxes>>) -> Json<Vec<Learner>> {
    Json(sandboxes.learners())
}

#[delete("/api/classes")]
async fn end(sandboxes: &State<Arc<Sandboxes>>) -> NoContent {
    sandboxes.end_class().await;
    NoContent
}

#[post("/do/classes", data = "<form>")]
async fn start_form(
    form: Form<NewClass>,
    sandboxes: &State<Arc<Sandboxes>>,
    runtime: &Runtime,
) -> RedirectBack {
    sandboxes.start_class(form.learners, runtime).await?;
    Ok(Redirect::to("/class"))
}

#[post("/do/classes/end")]
async fn end_form(sandboxes: &State<Arc<Sandboxes>>) -> Redirect {
    sandboxes.end_class().await;
    Redirect::to("/class")
}

#[derive(Template)]
#[template(path = "class.html")]
struct WallPage {
    header: PageHeader,
    /// For each lesson its title, and the number of learners who have finished it.
    finished: Vec<(&'static str, usize)>,
    learners: Vec<Learner>,
    /// The most learners that a class may have.
    limit: usize,
    /// Whether other machines reach the addresses.
    is_reached: bool,
}

#[get("/class")]
fn wall(sandboxes: &State<Arc<Sandboxes>>, runtime: &Runtime) -> RawHtml<String> {
    let learners = sandboxes.learners();
    let finished = CATALOGUE.lessons.iter().enumerate().map(|(index, lesson)| {
        let ticks = learners.iter().map(|it| &it.lessons[index]);
        let finished = ticks.filter(|it| it.done >= it.of).count();
        (lesson.title.as_str(), finished)
    });
    html(&WallPage {
        header: PageHeader::new(runtime),
        finished: finished.collect(),
        learners,
        limit: sandboxes.limit,
        is_reached: runtime.reach.host.is_some(),
    })
}
