//! The presenter's view: one login, one step at a time, each with a sentence. A step is an
//! arrow, or what the broker has stored.

use askama::Template;
use rocket::get;

use super::diagram::{self, Links};
use super::exchange_view::ExchangeView;
use super::rows::{Arrow, Note, Participant, Row};
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
    /// The number of the step that is shown, from 1; 0 if there is none.
    number: usize,
    count: usize,
    frame: Option<Frame>,
    /// Why the page does not show what its address asks for.
    problem: Option<String>,
}

/// One step, with the diagram up to it.
struct Frame {
    /// The names on the lifelines, which stay in view.
    heads: String,
    diagram: String,
    /// The step as text.
    label: String,
    sentence: String,
    address: Option<AddressBar>,
    notes: Vec<Note>,
    /// The path of its exchange, and whether that is kept.
    call: Option<(String, bool)>,
}

/// The browser's address bar, as it is after a step.
struct AddressBar {
    /// The address without its scheme, up to the query.
    base: String,
    query: String,
    /// Whether it is the app's, and has no query.
    is_bare: bool,
}

/// The login with its first `arrow` steps; without a number, the first one.
#[get("/present/<login>?<arrow>")]
pub(super) async fn page(login: &str, arrow: Option<&str>, runtime: &Runtime) -> PageResponse {
    let seq = runtime.event_log().last_seq();
    let rows = Sequence::of_login(runtime, login).await;
    let page = match &rows {
        Some(rows) => PresentPage::new(rows, arrow, seq, runtime),
        None => PresentPage::unknown(seq),
    };
    (found(rows.is_some()), html(&page))
}

impl PresentPage {
    fn new(shown: &Sequence, arrow: Option<&str>, seq: u64, runtime: &StackRuntime) -> Self {
        let ends = ends(&shown.rows);
        let count = ends.len();
        let asked = arrow.map_or(Some(1), |arrow| arrow.parse::<usize>().ok());
        let number = asked.unwrap_or(1).clamp(count.min(1), count);
        let problem = match asked {
            _ if count == 0 => Some("Nothing of this login is to be seen yet.".to_owned()),
            Some(asked) if asked == number => None,
            _ => Some(format!("This login has no such step: it has {count}.")),
        };
        let frame = number.checked_sub(1).map(|index| {
            let start = index.checked_sub(1).map_or(0, |before| ends[before]);
            Frame::new(start, ends[index], shown, runtime)
        });
        Self {
            path: shown.path.replace("/logins/", "/present/"),
            login_path: shown.path.clone(),
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
    /// The frame of the step whose rows are those from `start` to `end`.
    fn new(start: usize, end: usize, shown: &Sequence, runtime: &StackRuntime) -> Self {
        let (drawn, own) = (&shown.rows[..end], &shown.rows[start..end]);
        let at = start + own.iter().position(is_step).unwrap_or_default();
        let step = &shown.rows[at];
        let exchange = arrow(step).and_then(|it| it.exchange.as_deref());
        let links = Links {
            path: &shown.path,
            chosen: exchange,
        };
        // The notes of this step are beside its sentence, and those of the others were.
        let drawn = drawn.iter().filter(|row| !matches!(row, Row::Note(_)));
        let drawn: Vec<Row> = drawn.cloned().collect();
        let call = exchange.map(|id| {
            let view = ExchangeView::new(runtime, id, &shown.events);
            let is_kept = view.is_some_and(|view| view.exchange.is_some());
            (links.to(id), is_kept)
        });
        let notes = own.iter().filter_map(|row| match row {
            Row::Note(note) => Some(note.clone()),
            _ => None,
        });
        Self {
            heads: diagram::in_page(&[], &shown.participants, &links),
            diagram: diagram::in_page(&drawn, &shown.participants, &links),
            label: shown.participants.describe(step),
            sentence: sentence(step),
            address: AddressBar::at(at, shown, runtime),
            notes: notes.collect(),
            call,
        }
    }
}

/// The meaning of a step, for an audience.
fn sentence(step: &Row) -> String {
    match step {
        Row::Committed(steps) => {
            let meanings: Vec<_> = steps.iter().map(|step| labels::step(step)).collect();
            meanings.join(" ")
        }
        step => arrow(step).map_or("", |it| it.sentence).to_owned(),
    }
}

impl AddressBar {
    /// The bar after the step at the row `at`, if that is an arrow of the browser's.
    fn at(at: usize, shown: &Sequence, runtime: &StackRuntime) -> Option<Self> {
        let url = address(at, shown, runtime)?;
        let url = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let (base, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        Some(Self {
            is_bare: query.is_empty()
                && at > 0
                && arrow(&shown.rows[at])?.to == Participant::Consumer,
            base: base.to_owned(),
            query: query.to_owned(),
        })
    }
}

/// The address of the browser after the arrow at the row `at`: the one that it asks for, or is
/// sent to. An inferred arrow has that of the call before or after it.
fn address(at: usize, shown: &Sequence, runtime: &StackRuntime) -> Option<String> {
    use Participant::Browser;
    let step = arrow(&shown.rows[at])?;
    let log = runtime.event_log();
    let asked = |it: &Arrow| {
        let exchange = log.exchange(it.exchange.as_deref()?)?;
        let (_, path) = exchange.request.start.split_once(' ')?;
        Some(format!("{}{path}", runtime.urls.broker))
    };
    let sent = |it: &Arrow| match it.to == Browser && it.arrives {
        true => log.location(it.exchange.as_deref()?),
        false => None,
    };
    let (before, after) = shown.rows.split_at(at);
    match (step.from, step.to) {
        (Browser, _) | (_, Browser) if step.exchange.is_some() => {
            sent(step).or_else(|| asked(step))
        }
        (_, Browser) => {
            let mut next = after.iter().filter_map(arrow);
            next.find(|it| it.from == Browser).and_then(asked)
        }
        (Browser, _) => {
            let mut last = before.iter().rev().filter_map(arrow);
            last.find_map(sent).or_else(|| app(shown, runtime))
        }
        _ => None,
    }
}

/// The home page of the app, by its first callback.
fn app(shown: &Sequence, runtime: &StackRuntime) -> Option<String> {
    let client_id = shown.events.iter().find_map(|it| it.project.as_deref())?;
    let mut projects = runtime.projects.list().into_iter();
    let project = projects.find(|it| it.client_id.as_str() == client_id)?;
    Some(format!("{}/", project.redirect_uris.first()?.origin()))
}

fn arrow(row: &Row) -> Option<&Arrow> {
    match row {
        Row::Arrow(arrow) => Some(arrow),
        _ => None,
    }
}

/// Whether the row is a step; the others belong to one.
fn is_step(row: &Row) -> bool {
    matches!(row, Row::Arrow(_) | Row::Committed(_))
}

/// For each step the end of its rows: notes belong to the step above them, a pause to the one
/// below it.
fn ends(rows: &[Row]) -> Vec<usize> {
    let steps = rows.iter().enumerate();
    let steps = steps.filter(|(_, row)| is_step(row));
    let mut starts: Vec<usize> = steps
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
    use crate::inspector::rows::Participant::{Broker, Consumer};

    #[test]
    fn what_is_stored_is_a_step_and_a_pause_belongs_to_the_one_below() {
        let committed = Row::Committed(vec!["opened"]);
        let pause = Row::Pause("10 minutes later".to_owned());
        let arrow = || Row::Arrow(Arrow::plain(String::new(), Consumer, Broker, ""));
        let rows = [arrow(), committed, pause, arrow(), arrow()];
        assert_eq!(ends(&rows), [1, 2, 4, 5]);
        assert_eq!(ends(&[]), [0; 0]);
    }
}
