//! The list of lessons, and the page of one.

use askama::Template;
use broker::relay::RelayGuard;
use contract::Rule;
use mock_upstream::{Next, Provider};
use rocket::{State, get};

use super::attacker::{self, AttackerDesk, Attacks};
use super::lesson::{LESSONS, Lesson, Preparation, Scope, Tick};
use super::progress::{Beginning, LessonEvent, LessonRun, Progress, StackState, lesson_events};
use super::step_view::{ActionView, Piece, StepView, pieces};
use crate::labels;
use crate::page::{PageHeader, PageResponse, found, html};
use crate::request::Runtime;
use crate::runtime::StackRuntime;

/// The number of other logins that a page offers.
const MAX_CHOICES: usize = 5;

#[derive(Template)]
#[template(path = "lessons/list.html")]
struct ListPage {
    header: PageHeader,
    lessons: &'static [Lesson],
    /// Whether a lesson was asked for that does not exist.
    has_unknown: bool,
}

#[derive(Template)]
#[template(path = "lessons/lesson.html")]
struct LessonPage {
    header: PageHeader,
    lesson: &'static Lesson,
    number: usize,
    next: Option<&'static Lesson>,
    /// The sequence number of the last event on the page.
    seq: u64,
    has_begun: bool,
    notices: Vec<Notice>,
    steps: Vec<StepView>,
    is_complete: bool,
    /// The address of this page.
    path: String,
    /// The login that counts.
    login: Option<String>,
    desk: Option<AttackerDesk>,
}

/// A sentence about something unexpected, with the way on.
struct Notice {
    text: String,
    links: Vec<(String, String)>,
    /// Whether the way on is to begin again.
    begins_again: bool,
}

#[get("/lessons")]
pub(super) fn list(runtime: &Runtime) -> PageResponse {
    render_list(runtime, false)
}

fn render_list(runtime: &StackRuntime, has_unknown: bool) -> PageResponse {
    let page = ListPage {
        header: PageHeader::new(runtime),
        lessons: &LESSONS,
        has_unknown,
    };
    (found(!has_unknown), html(&page))
}

/// One lesson. `run` and `since` say where it began, `login` which login counts.
#[get("/lessons/<id>?<run>&<since>&<login>")]
pub(super) fn lesson(
    id: &str,
    run: Option<&str>,
    since: Option<&str>,
    login: Option<&str>,
    attacks: &State<Attacks>,
    runtime: &Runtime,
) -> PageResponse {
    let Some(index) = LESSONS.iter().position(|lesson| lesson.id == id) else {
        return render_list(runtime, true);
    };
    let lesson = &LESSONS[index];
    let mut page = LessonPage {
        header: PageHeader::new(runtime),
        lesson,
        number: index + 1,
        next: LESSONS.get(index + 1),
        // Before the events are read: one that comes in between is announced.
        seq: runtime.event_log().last_seq(),
        has_begun: false,
        notices: Vec::new(),
        steps: lesson.steps.iter().map(StepView::idle).collect(),
        is_complete: false,
        path: format!("/lessons/{id}"),
        login: None,
        desk: None,
    };
    if runtime.urls.consumer.is_none() {
        page.notices.push(Notice::plain(
            "This sandbox has no demo, which the lessons need. Use the lessons of the stack.",
        ));
    }
    match Beginning::parse(run, since, runtime.event_log()) {
        Beginning::None => {}
        Beginning::Reset => page.notices.push(Notice::to_begin_again(
            "The stack was reset since this lesson began, and its events are gone. Your place in the lesson went with them.",
        )),
        Beginning::At(run) => page.fill(runtime, attacks, &run, login),
    }
    (found(true), html(&page))
}

impl LessonPage {
    /// The paragraphs at the end.
    fn closing(&self) -> impl Iterator<Item = Vec<Piece<'static>>> {
        self.lesson.closing.iter().map(|text| pieces(text))
    }

    /// The rules with their sources.
    fn rules(&self) -> impl Iterator<Item = (Rule, String)> {
        let rules = self.lesson.rules.iter().map(|rule| rule.0);
        rules.map(|rule| (rule, labels::source(&rule.source().to_string())))
    }

    /// Adds what has happened since `run` began.
    fn fill(
        &mut self,
        runtime: &StackRuntime,
        attacks: &Attacks,
        run: &LessonRun,
        chosen: Option<&str>,
    ) {
        let lesson = self.lesson;
        let log = runtime.event_log();
        let attacks = attacks.list(log);
        let is_attack = |login: &str| attacks.iter().any(|attack| attack.login == login);
        let events = log.events(run.since, None);
        let (events, logins) = lesson_events(&events, log, &is_attack);
        let stack = stack_state(runtime);
        let progress = Progress::new(lesson, &events, &logins, chosen, &stack);
        self.has_begun = true;
        self.path = run.path(&lesson.id, chosen);
        self.notices.extend(notices(lesson, &progress));
        let which = LoginNotice {
            run,
            lesson,
            events: &events,
            logins: &logins,
        };
        self.notices.extend(which.of(chosen, progress.login));
        let steps = lesson.steps.iter().enumerate().map(|(index, step)| {
            let before = index.checked_sub(1).map(|before| &progress.steps[before]);
            StepView::new(step, &progress.steps[index], before, &events, runtime)
        });
        self.steps = steps.collect();
        self.is_complete = progress.is_complete();
        let done = progress.steps.iter().filter(|it| it.is_done()).count();
        runtime.keep_lesson_steps(&lesson.id, done);
        self.login = match lesson.scope {
            Scope::OneLogin => progress.login,
            Scope::Logins(_) | Scope::Attacks => logins.last().copied(),
        }
        .map(ToOwned::to_owned);
        if lesson.scope == Scope::Attacks {
            let attacks = attacks.iter().filter(|attack| attack.after >= run.since);
            let attacks = attacks.cloned().collect();
            let desk = AttackerDesk::new(attacks, &events, stack.relay_guard, stack.now_ms);
            self.desk = Some(desk);
        }
    }
}

fn stack_state(runtime: &StackRuntime) -> StackState {
    let mut planned = Vec::new();
    for provider in Provider::ALL {
        for entry in runtime.upstream.provider(provider).queued() {
            if let Next::Misbehave(misbehaviour) = entry.next {
                planned.push(Preparation::Misbehaviour {
                    provider: provider.name().to_owned(),
                    name: misbehaviour.name().to_owned(),
                });
            }
        }
    }
    let demo = attacker::demo(runtime).ok();
    let guard = demo.and_then(|demo| runtime.projects.relay_guard(&demo));
    StackState {
        armed: runtime.faults().armed(),
        planned,
        now_ms: runtime.clock.now_ms(),
        relay_guard: guard.unwrap_or(RelayGuard::Auto),
    }
}

/// The notices about steps: out of order, or past the point of the lesson.
fn notices(lesson: &Lesson, progress: &Progress<'_, '_>) -> Vec<Notice> {
    let missed = lesson.missed.as_ref().filter(|_| progress.is_missed);
    let missed = missed.map(|missed| Notice::plain(&missed.advice));
    let early = progress.out_of_order.map(|(missing, early)| {
        Notice::to_begin_again(format!(
            "Step {early} happened before step {missing}, so it does not count yet. Do step {missing}, then step {early} again, or begin the lesson again."
        ))
    });
    missed.into_iter().chain(early).collect()
}

/// The notice about logins beside the one that counts.
struct LoginNotice<'a, 'e> {
    run: &'a LessonRun,
    lesson: &'a Lesson,
    events: &'a [LessonEvent<'e>],
    logins: &'a [&'e str],
}

impl LoginNotice<'_, '_> {
    fn of(&self, chosen: Option<&str>, counts: Option<&str>) -> Option<Notice> {
        let number = self.logins.len();
        if chosen.is_some() && chosen != counts {
            let path = self.run.path(&self.lesson.id, None);
            return Some(Notice {
                links: vec![(path, "Let the stack choose the login".to_owned())],
                ..Notice::plain(
                    "The login that was to count is not one of this lesson’s. It is no longer kept, or began before the lesson.",
                )
            });
        }
        match self.lesson.scope {
            Scope::OneLogin if number > self.expected() => Some(self.choice(counts?)),
            Scope::Logins(most) if number > most => Some(Notice::to_begin_again(format!(
                "{number} logins have started since this lesson began. The first {most} count."
            ))),
            _ => None,
        }
    }

    /// The number of logins that the steps themselves ask for.
    fn expected(&self) -> usize {
        let is_another = |tick: &Tick| matches!(tick, Tick::Event(it) if it.any_login);
        let steps = self.lesson.steps.iter();
        1 + steps.filter(|step| is_another(&step.tick)).count()
    }

    fn choice(&self, counts: &str) -> Notice {
        let others = self.logins.iter().rev().filter(|login| **login != counts);
        let link = |login: &&str| {
            let path = self.run.path(&self.lesson.id, Some(login));
            let time = self.time_of(login);
            (path, format!("Count the login of {time} instead"))
        };
        Notice {
            links: others.take(MAX_CHOICES).map(link).collect(),
            ..Notice::plain(format!(
                "{} logins have started since this lesson began. The ticks are those of the login of {}.",
                self.logins.len(),
                self.time_of(counts)
            ))
        }
    }

    fn time_of(&self, login: &str) -> String {
        let mut events = self.events.iter().map(|it| it.event);
        let first = events.find(|event| event.login.as_deref() == Some(login));
        first.map_or_else(String::new, |event| labels::time_of_day(event.at))
    }
}

impl Notice {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            links: Vec::new(),
            begins_again: false,
        }
    }

    fn to_begin_again(text: impl Into<String>) -> Self {
        Self {
            begins_again: true,
            ..Self::plain(text)
        }
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        pieces(&self.text)
    }
}
