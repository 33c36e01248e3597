//! The steps of a lesson, as its page shows them.

use super::lesson::{Action, Preparation, Step, Tick};
use super::progress::{Done, LessonEvent};
use crate::event_log::EventSource;
use crate::facts::LoginFlow;
use crate::runtime::StackRuntime;

/// One step on the page.
pub(super) struct StepView {
    pub(super) text: Vec<Piece<'static>>,
    pub(super) is_done: bool,
    /// Whether it is the one to do now.
    pub(super) is_current: bool,
    pub(super) actions: Vec<ActionView>,
    /// The explanation, once the step is done.
    pub(super) seen: Vec<Piece<'static>>,
    /// The path of the call that ticked it.
    pub(super) call: Option<String>,
}

/// A link, or a form with one button.
pub(super) enum ActionView {
    Link {
        href: String,
        label: &'static str,
    },
    Form {
        path: &'static str,
        fields: Vec<(&'static str, String)>,
        label: String,
    },
    /// The button is not there, and why.
    Missing(&'static str),
}

/// A part of a text, in one style.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Plain(&'t str),
    /// The label of a button.
    Strong(&'t str),
    Code(&'t str),
}

/// The pieces of a text in which `*…*` is a label and `` `…` `` is code.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['*', '`']) {
        let (before, marked) = rest.split_at(start);
        let (mark, inner) = marked.split_at(1);
        let (inside, after) = inner.split_once(mark).unwrap_or((inner, ""));
        pieces.push(Piece::Plain(before));
        pieces.push(match mark {
            "*" => Piece::Strong(inside),
            _ => Piece::Code(inside),
        });
        rest = after;
    }
    pieces.push(Piece::Plain(rest));
    pieces.retain(|piece| *piece != Piece::Plain(""));
    pieces
}

impl StepView {
    /// A step before the lesson has begun.
    pub(super) fn idle(step: &'static Step) -> Self {
        Self {
            text: pieces(&step.text),
            is_done: false,
            is_current: false,
            actions: Vec::new(),
            seen: Vec::new(),
            call: None,
        }
    }

    /// A step whose state is `done`; `events` are all of the lesson.
    pub(super) fn new(
        step: &'static Step,
        done: &Done<'_, '_>,
        before: Option<&Done<'_, '_>>,
        events: &[LessonEvent<'_>],
        runtime: &StackRuntime,
    ) -> Self {
        let is_done = done.is_done();
        let is_current = !is_done && before.is_none_or(Done::is_done);
        // Buttons are there while their step is the current one, links and the attacker's
        // buttons always.
        let prepare = match &step.tick {
            Tick::Prepared { prepared } if is_current => Some(prepare(prepared)),
            _ => None,
        };
        let actions = step.actions.iter().filter_map(|action| match *action {
            Action::Demo => link_to_demo(runtime),
            Action::Attack(flow) => Some(attack(flow)),
            Action::SendAgain => is_current.then(|| send_again(before, events, runtime)),
        });
        Self {
            is_done,
            is_current,
            actions: prepare.into_iter().chain(actions).collect(),
            seen: match is_done {
                true => pieces(&step.seen),
                false => Vec::new(),
            },
            call: match done {
                Done::By(by) => by
                    .event
                    .login
                    .as_deref()
                    .map(|login| format!("/logins/{login}?call={}", by.event.request_id)),
                Done::Yes | Done::No => None,
            },
            ..Self::idle(step)
        }
    }
}

fn link_to_demo(runtime: &StackRuntime) -> Option<ActionView> {
    Some(ActionView::Link {
        href: runtime.urls.consumer.clone()?,
        label: "Open the demo",
    })
}

fn form(
    path: &'static str,
    fields: &[(&'static str, &str)],
    label: impl Into<String>,
) -> ActionView {
    let fields = fields.iter();
    ActionView::Form {
        path,
        fields: fields
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        label: label.into(),
    }
}

fn attack(flow: LoginFlow) -> ActionView {
    let (name, label) = match flow {
        LoginFlow::Clean => ("clean", "Start a login as the attacker"),
        LoginFlow::Legacy => ("legacy", "Start a legacy login as the attacker"),
    };
    form("/do/attack", &[("flow", name)], label)
}

fn prepare(preparation: &Preparation) -> ActionView {
    match preparation {
        Preparation::Fault { operation, fault } => form(
            "/do/strike",
            &[("operation", operation), ("fault", fault)],
            "Lose the next answer",
        ),
        Preparation::Misbehaviour { provider, name } => form(
            "/do/misbehave",
            &[("provider", provider), ("misbehaviour", name)],
            format!("Plan {name}"),
        ),
        Preparation::Advance { seconds } => form(
            "/do/advance",
            &[("seconds", &seconds.to_string())],
            format!("+{seconds} s"),
        ),
    }
}

/// The button that sends the call of the step before again.
fn send_again(
    before: Option<&Done<'_, '_>>,
    events: &[LessonEvent<'_>],
    runtime: &StackRuntime,
) -> ActionView {
    let Some(Done::By(read)) = before else {
        return ActionView::Missing("The button appears once there is a call to send again.");
    };
    let call = &read.event.request_id;
    let is_answered = events
        .iter()
        .any(|it| it.event.request_id == *call && it.event.source == EventSource::Audit);
    match is_answered && runtime.event_log().exchange(call).is_some() {
        true => form("/do/send-again", &[("call", call)], "Send it again"),
        false => ActionView::Missing(
            "This call is no longer kept: the oldest are dropped first. Begin the lesson again.",
        ),
    }
}
