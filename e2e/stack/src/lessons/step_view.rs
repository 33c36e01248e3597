//! The steps of a lesson, as its page shows them.

use super::lesson::{Action, Lesson, Press, Question, QuestionKind, Step, Tick};
use super::progress::{LessonEvents, LessonRun, Progress};
use crate::event_log::EventSource;
use crate::runtime::StackRuntime;

/// One step on the page.
pub(super) struct StepView {
    pub(super) step: &'static Step,
    pub(super) is_done: bool,
    /// Whether it is the one to do now.
    pub(super) is_current: bool,
    /// Whether it is the last one that was done, or a bet that this one has decided.
    pub(super) is_open: bool,
    pub(super) actions: Vec<ActionView>,
    /// The answers to choose from, each with its path.
    pub(super) options: Vec<(String, &'static str)>,
    /// Whether the last answer is right, and why.
    pub(super) verdict: Option<(bool, &'static str)>,
    /// The path of the call that ticked it.
    pub(super) call: Option<String>,
}

/// A link, or a form with one button.
pub(super) enum ActionView {
    /// The name of its tab, its address, and its label.
    Link(&'static str, String, &'static str),
    Form(Press),
    /// The button is not there, and why.
    Missing(&'static str),
}

/// The parts of which the steps of a page are made.
pub(super) struct Steps<'a> {
    pub(super) lesson: &'static Lesson,
    pub(super) run: &'a LessonRun,
    pub(super) progress: &'a Progress<'a, 'a>,
    pub(super) events: &'a LessonEvents<'a>,
    /// The attacker's newest link.
    pub(super) link: Option<&'a str>,
    pub(super) runtime: &'a StackRuntime,
}

impl Steps<'_> {
    /// The view of each step.
    pub(super) fn views(&self) -> Vec<StepView> {
        let steps = self.lesson.steps.iter().enumerate();
        steps.map(|(index, step)| self.view(index, step)).collect()
    }

    fn view(&self, index: usize, step: &'static Step) -> StepView {
        let done = self.progress.done.len();
        let (is_done, is_current) = (index < done, index == done);
        // Links and buttons are there while their step is the current one.
        let actions = step.actions.iter().filter(|_| is_current);
        let ticked = self.progress.done.get(index).copied().flatten();
        let mut view = StepView {
            step,
            is_done,
            is_current,
            is_open: index + 1 == done,
            actions: actions.filter_map(|it| self.action(it)).collect(),
            options: Vec::new(),
            verdict: None,
            call: ticked.and_then(|it| {
                let login = it.event.login.as_deref()?;
                Some(format!("/logins/{login}?call={}", it.event.request_id))
            }),
        };
        match &step.tick {
            // The attacker may start again.
            Tick::Press(press) if is_current || is_done && press.path == "/do/attack" => {
                view.actions.insert(0, ActionView::Form(press.clone()));
            }
            Tick::Question(question) => self.ask(question, index, &mut view),
            Tick::Event(_) | Tick::Press(_) => {}
        }
        view
    }

    /// Adds the options of a question while it is open, and the verdict.
    fn ask(&self, question: &'static Question, index: usize, view: &mut StepView) {
        if view.is_current && question.kind != QuestionKind::Arrows {
            let option = |text: &'static String| {
                let run = self.run.with_answers(vec![text.clone()]);
                (run.path(&self.lesson.id), text.as_str())
            };
            view.options = question.options.iter().map(|it| option(&it.text)).collect();
        }
        // The step after a bet shows who was right.
        let told_after = index + usize::from(question.kind == QuestionKind::Bet);
        let is_told = self.progress.done.len() > told_after
            || question.kind != QuestionKind::Bet && view.is_current;
        view.is_open |= is_told && self.progress.done.len() == told_after + 1;
        let last = self.run.answers.last().filter(|_| is_told);
        view.verdict = last.map(|answer| question.verdict(answer));
    }

    fn action(&self, action: &Action) -> Option<ActionView> {
        let demo = self.runtime.urls.consumer.clone();
        Some(match action {
            Action::Demo => ActionView::Link("demo", demo?, "Open the demo"),
            Action::SecondTab => ActionView::Link("demo-2", demo?, "Open the demo again"),
            Action::Victim => ActionView::Link(
                "victim",
                self.link?.to_owned(),
                "Open the link as the victim",
            ),
            Action::Press(press) => ActionView::Form(press.clone()),
            Action::SendAgain(operation) => self.send_again(operation),
        })
    }

    /// The button that sends the last answered call of an operation again.
    fn send_again(&self, operation: &str) -> ActionView {
        let mut events = self.events.events.iter().rev().map(|it| it.event);
        let answered = events.find(|it| {
            it.operation == operation
                && it.source == EventSource::Audit
                && it.status == Some(200)
                && it.login.as_deref() == self.progress.login
        });
        let call = answered.map(|it| it.request_id.as_str());
        match call.filter(|call| self.runtime.event_log().exchange(call).is_some()) {
            Some(call) => ActionView::Form(Press {
                label: "Send it again".to_owned(),
                ..Press::form("/do/send-again", &[("call", call)])
            }),
            None => ActionView::Missing(
                "This call is no longer kept: the oldest are dropped first. Start over.",
            ),
        }
    }
}
