//! The page `/practice`: the exercises of a learner, as `signin-kit practice` posts them while it
//! judges the apps in its folder. The program has the exercises; this is their mirror.

use askama::Template;
use rocket::http::{ContentType, Header, Status};
use rocket::response::status::NoContent;
use rocket::serde::json::Json;
use rocket::{Responder, Route, get, post, routes};
use serde::{Deserialize, Serialize};

use crate::control::call_list::{Call, calls};
use crate::page::{PageHeader, PageResponse, asset, found, html};
use crate::request::{ControlError, JsonBody, Runtime};

/// The exercises of a learner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Practice {
    /// The language of the apps: `python`.
    pub language: String,
    /// The folder of the apps, as the learner named it.
    pub folder: String,
    /// The id of the exercise that is being worked on.
    pub current: Option<String>,
    /// Every exercise, in the order of the course.
    pub exercises: Vec<PracticeExercise>,
}

/// One exercise, as far as the learner has seen it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PracticeExercise {
    /// The id, which is the last segment of its address.
    pub id: String,
    /// The fault, as a user of the app would say it.
    pub title: String,
    /// The heading that it stands under.
    pub group: String,
    /// The effect of the fault, in one sentence.
    pub goal: String,
    /// The people who suffer, or what the attacker gets.
    pub harm: String,
    /// The id of the lesson that explains it.
    pub lesson: String,
    /// The progress of the learner.
    pub status: PracticeStatus,
    /// The number of versions that were judged after the first look.
    pub tries: u32,
    /// The time that it took so far.
    pub seconds: u64,
    /// The hints that were asked for.
    pub hints: Vec<String>,
    /// The latest run.
    pub run: Option<PracticeRun>,
}

/// The progress of a learner with an exercise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PracticeStatus {
    /// The app is as it came.
    #[default]
    Open,
    /// A version of the learner's was judged, and the attack still works.
    Tried,
    /// The learner looked at the solution.
    Seen,
    /// The attack fails, and nothing else broke.
    Solved,
}

/// A run of the checks of an exercise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PracticeRun {
    /// The time, in UTC.
    pub at: String,
    /// Its length, in milliseconds.
    pub took_ms: u64,
    /// The verdict, in a sentence.
    pub says: String,
    /// The observation of each check that failed.
    pub seen: Vec<String>,
    /// Whether none did.
    pub is_green: bool,
    /// The diagrams: this run, and a good sign-in beside it.
    pub diagrams: Vec<PracticeDiagram>,
}

/// A sequence diagram, and the same as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PracticeDiagram {
    /// The title.
    pub title: String,
    /// A file of its own.
    pub svg: String,
    /// An exchange in each line.
    pub lines: Vec<String>,
}

impl PracticeStatus {
    /// The status as a mark, and in a word.
    pub fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Open => ("\u{25cb}", "open"),
            Self::Tried => ("\u{25d0}", "tried"),
            Self::Seen => ("\u{25cc}", "seen"),
            Self::Solved => ("\u{2713}", "solved"),
        }
    }
}

impl Practice {
    /// The number of exercises that are solved.
    pub fn solved(&self) -> usize {
        let exercises = self.exercises.iter();
        let solved = exercises.filter(|it| it.status == PracticeStatus::Solved);
        solved.count()
    }

    fn exercise(&self, id: &str) -> Option<&PracticeExercise> {
        self.exercises.iter().find(|it| it.id == id)
    }

    /// The exercises by their headings, each with its number; the last one has a star.
    fn groups(&self) -> Vec<Vec<(String, &PracticeExercise)>> {
        let last = self.exercises.len();
        let number = |number: usize| match number == last {
            true => "\u{2605}".to_owned(),
            false => number.to_string(),
        };
        let numbered: Vec<_> = (1..).map(number).zip(&self.exercises).collect();
        let groups = numbered.chunk_by(|(_, one), (_, next)| one.group == next.group);
        groups.map(<[_]>::to_vec).collect()
    }
}

/// The calls of programs.
pub(crate) fn practice_calls() -> Vec<Call> {
    calls! {
        read => "The exercises of the learner, as they were posted last.";
        keep, r#"{"language":"python","folder":"practice","exercises":[]}"# => "Keeps the exercises of a learner; signin-kit practice posts them. A reset leaves them.";
    }
}

/// The pages.
pub(crate) fn routes() -> Vec<Route> {
    let style = include_str!("../static/practice.css");
    let mut routes = routes![overview, exercise, diagram];
    routes.push(asset("/practice.css", ContentType::CSS, style));
    routes
}

#[get("/api/practice")]
fn read(runtime: &Runtime) -> Result<Json<Practice>, ControlError> {
    let practice = runtime.practice();
    practice.map(Json).ok_or_else(|| {
        ControlError::not_found("no exercises were posted yet: signin-kit practice posts them")
    })
}

/// The longest state, with diagrams, in KiB.
const MAX_KIB: u64 = 4 * 1024;

type PracticeBody = JsonBody<Practice, MAX_KIB>;

#[post("/api/practice", data = "<practice>")]
fn keep(practice: PracticeBody, runtime: &Runtime) -> NoContent {
    runtime.keep_practice(practice.0);
    NoContent
}

#[derive(Template)]
#[template(path = "practice/page.html")]
struct Page {
    header: PageHeader,
    /// The URL of the control address.
    control: String,
    practice: Option<Practice>,
    /// The id of the exercise that is shown.
    shown: Option<String>,
    /// Whether the address names an exercise that there is not.
    is_unknown: bool,
}

impl Page {
    fn exercise(&self) -> Option<&PracticeExercise> {
        self.practice.as_ref()?.exercise(self.shown.as_deref()?)
    }
}

/// Every exercise, and the one that is being worked on.
#[get("/practice")]
fn overview(runtime: &Runtime) -> PageResponse {
    let practice = runtime.practice();
    page(runtime, practice.as_ref().and_then(|it| it.current.clone()))
}

#[get("/practice/<id>")]
fn exercise(id: String, runtime: &Runtime) -> PageResponse {
    page(runtime, Some(id))
}

fn page(runtime: &Runtime, shown: Option<String>) -> PageResponse {
    let practice = runtime.practice();
    let mut page = Page {
        header: PageHeader::new(runtime),
        control: runtime.urls.control.clone(),
        practice,
        shown,
        is_unknown: false,
    };
    page.is_unknown = page.shown.is_some() && page.exercise().is_none();
    (found(!page.is_unknown), html(&page))
}

/// A picture that came from outside: opened by itself, it may do nothing.
#[derive(Responder)]
struct Picture {
    svg: (ContentType, String),
    policy: Header<'static>,
}

#[get("/practice/<id>/<number>/diagram.svg")]
fn diagram(id: &str, number: usize, runtime: &Runtime) -> Result<Picture, Status> {
    let practice = runtime.practice().ok_or(Status::NotFound)?;
    let run = practice.exercise(id).and_then(|it| it.run.as_ref());
    let diagram = run.and_then(|it| it.diagrams.get(number));
    let svg = diagram.ok_or(Status::NotFound)?.svg.clone();
    Ok(Picture {
        svg: (ContentType::SVG, svg),
        policy: Header::new(
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        ),
    })
}
