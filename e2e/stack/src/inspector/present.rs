//! The presenter's view: one login, one arrow at a time, each with a sentence.

use askama::Template;
use rocket::get;

use super::diagram::{self, Links};
use super::exchange_view::ExchangeView;
use super::rows::{Note, Row};
use super::sequence_view::Sequence;
use crate::labels;
use crate::page::{PageResponse, found, html};
use crate::request::Runtime;
use crate::runtime::StackRuntime;

#[derive(Default, Template)]
#[template(path = "present.html")]
struct PresentPage {
    path: String,
    /// The page of the login in the inspector.
    login_path: String,
    title: String,
    /// The sequence number of the last event on the page.
    seq: u64,
    /// The number of the arrow that is shown, from 1; 0 if there is none.
    number: usize,
    count: usize,
    frame: Option<Frame>,
    /// Why the page does not show what its address asks for.
    problem: Option<String>,
}

/// One arrow, with the diagram up to it.
struct Frame {
    diagram: String,
    /// The arrow as text.
    label: String,
    sentence: &'static str,
    committed: Vec<&'static str>,
    notes: Vec<Note>,
    /// The path of its exchange, and whether that is kept.
    call: Option<(String, bool)>,
}

/// The login with its first `arrow` arrows; without a number, the first one.
#[get("/present/<login>?<arrow>")]
pub(super) async fn page(login: &str, arrow: Option<&str>, runtime: &Runtime) -> PageResponse {
    let seq = runtime.event_log().last_seq();
    let rows = Sequence::of_login(runtime, login).await;
    let page = match &rows {
        Some(rows) => PresentPage::new(rows, login, arrow, seq, runtime),
        None => PresentPage::unknown(seq),
    };
    (found(rows.is_some()), html(&page))
}

impl PresentPage {
    fn new(
        shown: &Sequence,
        login: &str,
        arrow: Option<&str>,
        seq: u64,
        runtime: &StackRuntime,
    ) -> Self {
        let ends = ends(&shown.rows);
        let count = ends.len();
        let asked = arrow.map_or(Some(1), |arrow| arrow.parse::<usize>().ok());
        let number = asked.unwrap_or(1).clamp(count.min(1), count);
        let problem = match asked {
            _ if count == 0 => Some("Nothing of this login is to be seen yet.".to_owned()),
            Some(asked) if asked == number => None,
            _ => Some(format!("This login has no such arrow: it has {count}.")),
        };
        let login_path = format!("/logins/{login}");
        let frame = number.checked_sub(1).map(|index| {
            let start = index.checked_sub(1).map_or(0, |before| ends[before]);
            let rows = &shown.rows[..ends[index]];
            Frame::new(rows, start, shown, &login_path, runtime)
        });
        Self {
            path: format!("/present/{login}"),
            login_path,
            title: shown.title.clone(),
            seq,
            number,
            count,
            frame,
            problem,
        }
    }

    /// The page of a login that no event mentions.
    fn unknown(seq: u64) -> Self {
        Self {
            path: "/".to_owned(),
            login_path: "/".to_owned(),
            title: "This login is unknown".to_owned(),
            seq,
            problem: Some("It was removed by a reset, or is no longer kept.".to_owned()),
            ..Self::default()
        }
    }

    fn before(&self) -> Option<usize> {
        self.number.checked_sub(1).filter(|number| *number > 0)
    }

    fn after(&self) -> Option<usize> {
        (self.number < self.count).then_some(self.number + 1)
    }
}

impl Frame {
    /// The frame of the last arrow in `rows`, whose own rows begin at `start`.
    fn new(
        rows: &[Row],
        start: usize,
        shown: &Sequence,
        login_path: &str,
        runtime: &StackRuntime,
    ) -> Self {
        let own = &rows[start..];
        let exchange = own.iter().find_map(|row| match row {
            Row::Arrow(arrow) => arrow.exchange.as_deref(),
            _ => None,
        });
        let links = Links {
            path: login_path,
            chosen: exchange,
        };
        let call = exchange.map(|id| {
            let view = ExchangeView::new(runtime, id, &shown.events);
            let is_kept = view.is_some_and(|view| view.exchange.is_some());
            (links.to(id), is_kept)
        });
        let mut frame = Self {
            diagram: diagram::in_page(rows, &shown.participants, &links),
            label: String::new(),
            sentence: "",
            committed: Vec::new(),
            notes: Vec::new(),
            call,
        };
        for row in own {
            match row {
                Row::Arrow(arrow) => {
                    frame.label = shown.participants.describe(row);
                    frame.sentence = arrow.sentence;
                }
                Row::Committed(steps) => {
                    frame
                        .committed
                        .extend(steps.iter().map(|step| labels::step(step)));
                }
                Row::Note(note) => frame.notes.push(note.clone()),
                Row::Pause(_) | Row::Expiry(_) => {}
            }
        }
        frame
    }
}

/// For each arrow the end of its rows: notes belong to the arrow above them, a pause to the
/// one below it.
fn ends(rows: &[Row]) -> Vec<usize> {
    let arrows = rows.iter().enumerate();
    let arrows = arrows.filter(|(_, row)| matches!(row, Row::Arrow(_)));
    let mut starts: Vec<usize> = arrows
        .map(|(index, _)| {
            let is_time = |row: &&Row| matches!(row, Row::Pause(_) | Row::Expiry(_));
            index - rows[..index].iter().rev().take_while(is_time).count()
        })
        .collect();
    if starts.is_empty() {
        return starts;
    }
    starts.remove(0);
    starts.push(rows.len());
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspector::rows::Arrow;
    use crate::inspector::rows::Participant::{Broker, Consumer};

    #[test]
    fn a_note_belongs_to_the_arrow_above_it_and_a_pause_to_the_one_below() {
        let committed = Row::Committed(vec!["opened"]);
        let pause = Row::Pause("10 minutes later".to_owned());
        let arrow = || Row::Arrow(Arrow::plain(String::new(), Consumer, Broker, ""));
        let rows = [arrow(), committed, pause, arrow(), arrow()];
        assert_eq!(ends(&rows), [2, 4, 5]);
        assert_eq!(ends(&[]), [0; 0]);
    }
}
