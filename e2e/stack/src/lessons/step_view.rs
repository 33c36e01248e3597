//! The steps of a lesson, as its page shows them.

use super::fact::Fact;
use super::lesson::{Action, Preparation, Step};
use super::progress::Done;
use crate::event_log::EventSource;
use crate::login_status::LoginFlow;
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
            text: pieces(step.text),
            is_done: false,
            is_current: false,
            actions: Vec::new(),
            seen: Vec::new(),
            call: None,
        }
    }

    /// A step whose state is `done`; `facts` are all of the lesson.
    pub(super) fn new(
        step: &'static Step,
        done: &Done<'_, '_>,
        before: Option<&Done<'_, '_>>,
        facts: &[Fact<'_>],
        runtime: &StackRuntime,
    ) -> Self {
        let is_current = !done.is_done() && before.is_none_or(Done::is_done);
        let actions = step.actions.iter();
        let actions =
            actions.filter_map(|action| view(*action, is_current, before, facts, runtime));
        let call = match done {
            Done::By(fact) => call(fact),
            Done::Yes | Done::No => None,
        };
        Self {
            is_done: done.is_done(),
            is_current,
            actions: actions.collect(),
            seen: match done.is_done() {
                true => pieces(step.seen),
                false => Vec::new(),
            },
            call,
            ..Self::idle(step)
        }
    }
}

/// The page of the call that ticked a step.
fn call(fact: &Fact<'_>) -> Option<String> {
    let login = fact.event.login.as_deref()?;
    Some(format!("/logins/{login}?call={}", fact.event.request_id))
}

/// The link or the button of an action. Buttons are there while their step is the current
/// one, links and the attacker's buttons always.
fn view(
    action: Action,
    is_current: bool,
    before: Option<&Done<'_, '_>>,
    facts: &[Fact<'_>],
    runtime: &StackRuntime,
) -> Option<ActionView> {
    match action {
        Action::Demo => Some(ActionView::Link {
            href: runtime.urls.consumer.clone()?,
            label: "Open the demo",
        }),
        Action::Attack(flow) => Some(ActionView::Form {
            path: "/do/attack",
            fields: vec![(
                "flow",
                match flow {
                    LoginFlow::Clean => "clean",
                    LoginFlow::Legacy => "legacy",
                }
                .to_owned(),
            )],
            label: match flow {
                LoginFlow::Clean => "Start a login as the attacker",
                LoginFlow::Legacy => "Start a legacy login as the attacker",
            }
            .to_owned(),
        }),
        Action::Prepare(preparation) => is_current.then(|| form(preparation)),
        Action::SendAgain => is_current.then(|| send_again(before, facts, runtime)),
    }
}

fn form(preparation: Preparation) -> ActionView {
    match preparation {
        Preparation::Fault { operation, fault } => ActionView::Form {
            path: "/do/strike",
            fields: vec![
                ("operation", operation.to_owned()),
                ("fault", fault.name().to_owned()),
            ],
            label: "Lose the next answer".to_owned(),
        },
        Preparation::Misbehaviour { provider, name } => ActionView::Form {
            path: "/do/misbehave",
            fields: vec![
                ("provider", provider.to_string()),
                ("misbehaviour", name.to_string()),
            ],
            label: format!("Plan {name}"),
        },
        Preparation::Advance { seconds } => ActionView::Form {
            path: "/do/advance",
            fields: vec![("seconds", seconds.to_string())],
            label: format!("+{seconds} s"),
        },
    }
}

/// The button that sends the call of the step before again.
fn send_again(
    before: Option<&Done<'_, '_>>,
    facts: &[Fact<'_>],
    runtime: &StackRuntime,
) -> ActionView {
    let Some(Done::By(read)) = before else {
        return ActionView::Missing("The button appears once there is a call to send again.");
    };
    let request_id = &read.event.request_id;
    let mut answered = facts.iter().map(|fact| fact.event);
    let answered = answered
        .find(|event| event.request_id == *request_id && event.source == EventSource::Audit);
    match answered {
        Some(event) if runtime.event_log().exchange(request_id).is_some() => ActionView::Form {
            path: "/do/send-again",
            fields: vec![("call", event.request_id.clone())],
            label: "Send it again".to_owned(),
        },
        _ => ActionView::Missing(
            "This call is no longer kept: the oldest are dropped first. Begin the lesson again.",
        ),
    }
}
