//! The diagram beside a lesson's steps: the arrows of the login that counts, and faintly those
//! that a good sign-in would have after them. While a question is about the arrows, each of them
//! is a link that answers it.

use std::collections::HashMap;

use super::lesson::{CATALOGUE, Lesson, Question};
use super::progress::LessonRun;
use crate::facts::{LoginFlow, Style};
use crate::inspector::{Arrow, Links, Participant, Participants, Row, Sequence, in_page};
use crate::runtime::StackRuntime;

/// The diagram of a lesson.
pub(super) struct LessonDiagram {
    pub(super) svg: String,
    /// The arrows as text, with the paths that answer the question.
    pub(super) list: Vec<(String, String)>,
    /// The page of the call behind each arrow, by its label.
    pub(super) calls: HashMap<String, String>,
}

impl LessonDiagram {
    /// The diagram of `login`; without one, of a sign-in by `flow` that has not begun. The
    /// question is about the arrows; it may be open.
    pub(super) async fn new(
        runtime: &StackRuntime,
        login: Option<&str>,
        flow: LoginFlow,
        question: Option<(&Question, bool)>,
        (lesson, run): (&Lesson, &LessonRun),
    ) -> Self {
        let sequence = match login {
            Some(login) => Sequence::of_login(runtime, login).await,
            None => None,
        };
        let path = sequence
            .as_ref()
            .map_or(String::new(), |it| it.path.clone());
        let (mut rows, participants) = match sequence {
            Some(it) => (it.rows, it.participants),
            None => (Vec::new(), Participants::of(runtime, "The demo", None)),
        };
        let is_right = |it: &&String| question.is_some_and(|(question, _)| question.verdict(it).0);
        let found: Vec<_> = run.answers.iter().filter(is_right).cloned().collect();
        let is_open = question.is_some_and(|(_, is_open)| is_open);
        let (mut list, mut calls) = (Vec::new(), HashMap::new());
        for arrow in rows.iter_mut().filter_map(Row::as_arrow_mut) {
            if let Some(call) = arrow.exchange.take() {
                let page = format!("{path}?call={call}");
                calls.entry(arrow.label.clone()).or_insert(page);
            }
            if is_open {
                let answers = found.iter().chain([&arrow.label]).cloned();
                let href = run.with_answers(answers.collect()).path(&lesson.id);
                list.push((href.clone(), participants.describe_arrow(arrow)));
                arrow.exchange = Some(href);
            }
            if found.contains(&arrow.label) {
                arrow.style = Style::Succeeded;
            }
        }
        let ahead = ahead(&rows, CATALOGUE.arrows(flow));
        rows.extend(ahead.into_iter().map(Row::Arrow));
        let links = Links {
            path: "",
            chosen: None,
        };
        let svg = in_page(&rows, &participants, &links);
        Self { svg, list, calls }
    }
}

/// The arrows of `path` after those that `rows` have; none after an end.
fn ahead(rows: &[Row], path: &[[String; 3]]) -> Vec<Arrow> {
    use Style::{Faulted, Refused, Succeeded};
    let arrows: Vec<_> = rows.iter().filter_map(Row::as_arrow).collect();
    if arrows
        .iter()
        .any(|it| matches!(it.style, Succeeded | Refused | Faulted))
    {
        return Vec::new();
    }
    let is_drawn = |label: &String| arrows.iter().any(|it| it.label == *label);
    let reached = path.iter().rposition(|[_, _, label]| is_drawn(label));
    let rest = (1..).zip(path).skip(reached.map_or(0, |last| last + 1));
    let ahead = rest.map(|(number, [from, to, label])| {
        let [from, to] = [from, to].map(|it| Participant::named(it));
        Arrow {
            style: Style::Ahead,
            ..Arrow::plain(format!("ahead-{number}"), from, to, label)
        }
    });
    ahead.collect()
}
