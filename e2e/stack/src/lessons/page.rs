//! The list of lessons, and the page of one.

use askama::Template;
use contract::Rule;
use mock_upstream::{Mode, Next, Provider};
use rocket::response::Redirect;
use rocket::{State, get};

use super::attacker::{Attack, Attacks, AttacksView};
use super::diagram::LessonDiagram;
use super::lesson::{CATALOGUE, Lesson, Press, QuestionKind, Scope, Tick};
use super::progress::{LessonEvents, LessonRun, Progress, Situation};
use super::step_view::{ActionView, StepView, Steps};
use crate::facts::LoginFlow;
use crate::labels;
use crate::page::{PageHeader, PageResponse, found, html};
use crate::regions::{Excerpt, excerpts};
use crate::request::Runtime;
use crate::runtime::StackRuntime;

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
pub(super) struct LessonPage {
    header: PageHeader,
    lesson: &'static Lesson,
    number: usize,
    next: Option<&'static Lesson>,
    /// The sequence number of the last event on the page.
    seq: u64,
    /// Whether the stack was reset since the lesson began.
    was_reset: bool,
    /// The number of faults and planned failures that no step has armed.
    foreign: usize,
    /// Whether a provider signs its users in without a page.
    is_automatic: bool,
    /// Whether a login of the other flow was started.
    has_other_flow: bool,
    missed: Option<&'static str>,
    out_of_order: Option<(usize, usize)>,
    /// The number of logins that have started.
    started: usize,
    steps: Vec<StepView>,
    done: usize,
    /// The address of this page.
    path: String,
    /// The login that counts.
    login: Option<String>,
    diagram: LessonDiagram,
    attacks: Option<AttacksView>,
    code: Vec<Excerpt>,
}

#[get("/lessons")]
pub(super) fn list(runtime: &Runtime) -> PageResponse {
    render_list(runtime, false)
}

fn render_list(runtime: &StackRuntime, has_unknown: bool) -> PageResponse {
    let page = ListPage {
        header: PageHeader::new(runtime),
        lessons: &CATALOGUE.lessons,
        has_unknown,
    };
    (found(!has_unknown), html(&page))
}

/// One lesson. `run` and `since` say where it began; without them it begins now. Each `answer`
/// is one to its question.
#[get("/lessons/<id>?<run>&<since>&<answer>")]
pub(super) async fn lesson(
    id: &str,
    run: Option<&str>,
    since: Option<&str>,
    answer: Vec<String>,
    attacks: &State<Attacks>,
    runtime: &Runtime,
) -> Result<PageResponse, Redirect> {
    let Some((number, lesson)) = CATALOGUE.find(id) else {
        return Ok(render_list(runtime, true));
    };
    let Some(run) = LessonRun::parse(run, since, runtime.event_log()) else {
        let begins = LessonRun::begin(runtime.event_log());
        return Err(Redirect::to(begins.path(id)));
    };
    let run = run.with_answers(answer);
    let page = LessonPage::new(runtime, attacks, number, lesson, &run).await;
    Ok((found(true), html(&page)))
}

impl LessonPage {
    async fn new(
        runtime: &StackRuntime,
        attacks: &Attacks,
        number: usize,
        lesson: &'static Lesson,
        run: &LessonRun,
    ) -> Self {
        let log = runtime.event_log();
        // Before the events are read: one that comes in between is announced.
        let seq = log.last_seq();
        let attacks = attacks.since(runtime, run.since);
        let situation = situation(runtime, &attacks, run);
        let events = log.events(run.since, None);
        let events = LessonEvents::new(lesson.scope, &events, log, &attacks);
        let progress = Progress::new(lesson, &events, &situation);
        let done = progress.done.len();
        runtime.keep_lesson_steps(&lesson.id, done);
        let login = progress.login.or(events.logins.last().copied());
        let newest = attacks.last().filter(|_| lesson.scope.is_attack());
        let flow = newest.map_or(lesson.scope.flow(), |attack| attack.flow);
        let question = (0..)
            .zip(&lesson.steps)
            .find_map(|(index, step)| match &step.tick {
                Tick::Question(it) if it.kind == QuestionKind::Arrows && index <= done => {
                    Some((it, index == done))
                }
                _ => None,
            });
        let diagram = LessonDiagram::new(runtime, login, flow, question, (lesson, run)).await;
        let steps = Steps {
            lesson,
            run,
            progress: &progress,
            events: &events,
            link: newest.map(|attack| attack.link.as_str()),
            runtime,
        };
        Self {
            header: PageHeader::new(runtime),
            lesson,
            number,
            next: CATALOGUE.lessons.get(number),
            seq,
            steps: steps.views(),
            done,
            path: run.path(&lesson.id),
            login: login.map(ToOwned::to_owned),
            attacks: newest.map(|_| AttacksView::new(runtime, &attacks, &events.events)),
            code: excerpts(&lesson.code).collect(),
            diagram,
            was_reset: run.was_reset,
            foreign: count_foreign(lesson, &situation),
            is_automatic: Provider::ALL
                .into_iter()
                .any(|it| runtime.upstream.provider(it).mode() == Mode::Automatic),
            has_other_flow: events.has_other_flow && done < lesson.steps.len(),
            missed: progress.missed.map(|missed| missed.advice.as_str()),
            out_of_order: progress.out_of_order,
            started: events.logins.len(),
        }
    }

    fn is_complete(&self) -> bool {
        self.done == self.steps.len()
    }

    /// A text as HTML, in which `*…*` is the label of a button and `` `…` `` is code.
    pub(super) fn marked(text: &str) -> String {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        let marks = [('*', "strong"), ('`', "code")];
        marks.into_iter().fold(escaped, |text, (mark, tag)| {
            let parts = text.split(mark).enumerate();
            let tagged = parts.map(|(index, part)| match index % 2 {
                0 => part.to_owned(),
                _ => format!("<{tag}>{part}</{tag}>"),
            });
            tagged.collect()
        })
    }

    /// The number of lessons.
    fn count(&self) -> usize {
        CATALOGUE.lessons.len()
    }

    /// The names of the lesson's flow at the demo, and of the other one.
    fn flows(&self) -> [&'static str; 2] {
        use LoginFlow::{Clean, Legacy};
        let [own, other] = match self.lesson.scope.flow() {
            Clean => [Clean, Legacy],
            Legacy => [Legacy, Clean],
        };
        [own, other].map(|flow| labels::flow(Some(flow)))
    }

    /// The call that shows the answer to a question about arrows.
    fn call_of<'a>(&'a self, step: &'a StepView) -> Option<&'a String> {
        let Tick::Question(question) = &step.step.tick else {
            return step.call.as_ref();
        };
        let label = question.options.first().filter(|_| step.is_done)?;
        self.diagram.calls.get(&label.text)
    }

    /// The rules with their sources.
    fn rules(&self) -> impl Iterator<Item = (Rule, String)> {
        let rules = self.lesson.rules.iter().map(|rule| rule.0);
        rules.map(|rule| (rule, labels::source(&rule.source().to_string())))
    }
}

/// The buttons whose effect lasts, and the rest of the student's doings.
fn situation(runtime: &StackRuntime, attacks: &[Attack], run: &LessonRun) -> Situation {
    let mut pressed = Vec::new();
    for it in runtime.faults().armed() {
        let fields = [("operation", it.operation), ("fault", it.fault)];
        pressed.push(Press::form("/do/strike", &fields));
    }
    for provider in Provider::ALL {
        for entry in runtime.upstream.provider(provider).queued() {
            if let Next::Misbehave(it) = entry.next {
                let fields = [("provider", provider.name()), ("misbehaviour", it.name())];
                pressed.push(Press::form("/do/misbehave", &fields));
            }
        }
    }
    for attack in attacks {
        pressed.push(attack.press());
        if attack.back.as_ref().is_some_and(|back| back.is_forged) {
            pressed.push(Press::form("/do/attack/read", &[("forged", "true")]));
        }
    }
    Situation {
        pressed,
        now_ms: runtime.clock.now_ms(),
        answers: run.answers.clone(),
    }
}

/// The number of faults and planned failures that no step of `lesson` arms.
pub(super) fn count_foreign(lesson: &Lesson, situation: &Situation) -> usize {
    let is_own = |it: &Press| {
        let mut ticks = lesson.steps.iter().map(|step| &step.tick);
        ticks.any(|tick| matches!(tick, Tick::Press(own) if own.is_like(it)))
    };
    let armed = situation.pressed.iter();
    let armed = armed.filter(|it| ["/do/strike", "/do/misbehave"].contains(&it.path.as_str()));
    armed.filter(|it| !is_own(it)).count()
}
