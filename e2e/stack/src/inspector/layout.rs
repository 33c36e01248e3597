//! The layout of the sequence diagram: the position of each row. Lengths are in the
//! units of the SVG, which is scaled to the page.

use super::rows::{Arrow, Note, Participant, Row};
use crate::labels;

pub(crate) const WIDTH: i32 = 960;

/// The upper end of the lifelines.
pub(crate) const TOP: i32 = 76;

const ARROW_HEIGHT: i32 = 50;
const DETAIL_HEIGHT: i32 = 18;
const COMMIT_HEIGHT: i32 = 40;
const PAUSE_HEIGHT: i32 = 44;
const LINE_HEIGHT: i32 = 23;
const NOTE_PADDING: i32 = 14;

/// The maximum length of a line in a note, in characters.
const LINE_CHARACTERS: usize = 102;

/// The maximum length of the second line of an arrow, in characters.
const DETAIL_CHARACTERS: usize = 28;

/// The approximate width of a character in a pill.
const CHARACTER_WIDTH: i32 = 10;

/// A diagram that is ready to be drawn.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) height: i32,
    pub(crate) shapes: Vec<Shape>,
}

/// A shape of the diagram.
#[derive(Debug)]
pub(crate) enum Shape {
    Line(Line),
    Pill {
        y: i32,
        x: i32,
        width: i32,
        text: String,
    },
    Box {
        y: i32,
        height: i32,
        style: &'static str,
        lines: Vec<Text>,
    },
    /// A line across the diagram: time that passes, or a login that expires.
    Time {
        y: i32,
        style: &'static str,
        text: String,
    },
}

/// An arrow.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) y: i32,
    pub(crate) from: i32,
    /// The end: at a lifeline, or before it if the message does not arrive.
    pub(crate) to: i32,
    pub(crate) middle: i32,
    pub(crate) left: i32,
    pub(crate) width: i32,
    pub(crate) head: String,
    pub(crate) style: &'static str,
    pub(crate) arrives: bool,
    pub(crate) label: String,
    /// A second line, below the arrow.
    pub(crate) detail: Option<String>,
    /// The duration, in the right margin.
    pub(crate) took: Option<String>,
    /// The whole arrow as text, for screen readers.
    pub(crate) description: String,
    pub(crate) exchange: Option<String>,
}

/// A line of text.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) y: i32,
    pub(crate) is_title: bool,
    pub(crate) text: String,
}

/// Arranges `rows` from top to bottom.
pub(crate) fn arrange(rows: &[Row], describe: &dyn Fn(&Row) -> String) -> Layout {
    let mut y = TOP + 10;
    let mut shapes = Vec::new();
    for row in rows {
        let (shape, height) = match row {
            Row::Arrow(arrow) => {
                let detail = arrow.detail.as_ref().map_or(0, |_| DETAIL_HEIGHT);
                (line(arrow, y, describe(row)), ARROW_HEIGHT + detail)
            }
            Row::Committed(steps) => (pill(steps, y), COMMIT_HEIGHT),
            Row::Note(note) => boxed(note, y),
            Row::Pause(text) => (time("pause", text, y), PAUSE_HEIGHT),
            Row::Expiry(text) => (time("expiry", text, y), PAUSE_HEIGHT),
        };
        shapes.push(shape);
        y += height;
    }
    Layout {
        height: y + 24,
        shapes,
    }
}

/// The position of a lifeline.
pub(crate) const fn x(participant: Participant) -> i32 {
    match participant {
        Participant::Browser => 110,
        Participant::Consumer => 350,
        Participant::Broker => 605,
        Participant::Provider => 850,
    }
}

fn line(arrow: &Arrow, top: i32, description: String) -> Shape {
    let y = top + 34;
    let (from, lifeline) = (x(arrow.from), x(arrow.to));
    let to = if arrow.arrives {
        lifeline
    } else {
        from + (lifeline - from) * 3 / 4
    };
    // The head points in the direction of the arrow.
    let back = if lifeline > from { -11 } else { 11 };
    let head = format!("{to},{y} {},{} {},{}", to + back, y - 6, to + back, y + 6);
    Shape::Line(Line {
        id: arrow.id.clone(),
        y,
        from,
        to,
        middle: i32::midpoint(from, to),
        left: from.min(lifeline) - 6,
        width: (lifeline - from).abs() + 12,
        head,
        style: arrow.style.class(),
        arrives: arrow.arrives,
        label: arrow.label.clone(),
        detail: arrow
            .detail
            .as_deref()
            .map(|it| shortened(it, DETAIL_CHARACTERS)),
        took: arrow.took.map(|took| match took.as_millis() {
            0 => "< 1 ms".to_owned(),
            ms => format!("{ms} ms"),
        }),
        description,
        exchange: arrow.exchange.clone(),
    })
}

fn pill(steps: &[&str], y: i32) -> Shape {
    let text = format!("✓ stored: {}", labels::steps_in_short(steps));
    let characters = i32::try_from(text.chars().count()).unwrap_or_default();
    Shape::Pill {
        y: y + 7,
        x: x(Participant::Broker),
        width: characters * CHARACTER_WIDTH + 16,
        text,
    }
}

fn time(style: &'static str, text: &str, y: i32) -> Shape {
    Shape::Time {
        y: y + 24,
        style,
        text: text.to_owned(),
    }
}

fn boxed(note: &Note, top: i32) -> (Shape, i32) {
    let advice = note.advice.map(|advice| format!("What to do: {advice}"));
    let rule = note.rule.as_ref().map(|rule| format!("Rule {rule}"));
    let texts = note.sentences.iter().cloned().chain(rule).chain(advice);
    let title = (true, note.title.clone());
    let plain = texts
        .flat_map(|text| wrapped(&text))
        .map(|text| (false, text));
    let mut lines = Vec::new();
    let mut y = top + 6 + NOTE_PADDING + 12;
    for (is_title, text) in std::iter::once(title).chain(plain) {
        lines.push(Text { y, is_title, text });
        y += LINE_HEIGHT;
    }
    let height = y - LINE_HEIGHT + NOTE_PADDING - top - 2;
    let shape = Shape::Box {
        y: top + 6,
        height,
        style: note.style.class(),
        lines,
    };
    (shape, height + 18)
}

/// The text, cut to a number of characters.
pub(super) fn shortened(text: &str, max_characters: usize) -> String {
    if text.chars().count() <= max_characters {
        return text.to_owned();
    }
    let start: String = text.chars().take(max_characters - 1).collect();
    format!("{start}…")
}

/// The text in lines of at most [`LINE_CHARACTERS`].
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= LINE_CHARACTERS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_is_wrapped_without_losing_a_word() {
        let text = "word ".repeat(60);
        let lines = wrapped(text.trim());
        assert!(lines.len() > 1);
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= LINE_CHARACTERS)
        );
        assert_eq!(lines.join(" "), text.trim());
    }
}
