//! Where each row of a story stands in the diagram. Lengths are in the picture's
//! own units; it is scaled to the page.

use super::story::{Arrow, Aside, Mood, Party, Row};

pub(crate) const WIDTH: i32 = 960;

/// Where the lifelines begin.
pub(crate) const TOP: i32 = 76;

const ARROW_HEIGHT: i32 = 50;
const COMMIT_HEIGHT: i32 = 40;
const PAUSE_HEIGHT: i32 = 44;
const LINE_HEIGHT: i32 = 23;
const ASIDE_PADDING: i32 = 14;

/// Letters of a line of an aside, at most.
const LINE_LETTERS: usize = 102;

/// How wide a letter of what was committed is, about.
const LETTER: i32 = 10;

/// A diagram that is ready to be drawn.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) height: i32,
    pub(crate) marks: Vec<Mark>,
}

/// Something to draw.
#[derive(Debug)]
pub(crate) enum Mark {
    Line(Line),
    Pill {
        y: i32,
        x: i32,
        width: i32,
        words: String,
    },
    Box {
        y: i32,
        height: i32,
        mood: &'static str,
        lines: Vec<Text>,
    },
    Pause {
        y: i32,
        words: String,
    },
}

/// An arrow.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) y: i32,
    pub(crate) from: i32,
    /// Where it ends: at a lifeline, or before it.
    pub(crate) to: i32,
    pub(crate) middle: i32,
    pub(crate) left: i32,
    pub(crate) width: i32,
    pub(crate) head: String,
    pub(crate) mood: &'static str,
    pub(crate) arrives: bool,
    pub(crate) words: String,
    /// The whole of it for somebody who does not see the picture.
    pub(crate) says: String,
    pub(crate) exchange: Option<String>,
}

/// A line of text.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) y: i32,
    pub(crate) is_title: bool,
    pub(crate) words: String,
}

/// Places `rows` from top to bottom.
pub(crate) fn place(rows: &[Row], says: &dyn Fn(&Row) -> String) -> Layout {
    let mut y = TOP + 10;
    let mut marks = Vec::new();
    for row in rows {
        let (mark, height) = match row {
            Row::Arrow(arrow) => (line(arrow, y, says(row)), ARROW_HEIGHT),
            Row::Committed(steps) => (pill(steps, y), COMMIT_HEIGHT),
            Row::Aside(aside) => boxed(aside, y),
            Row::Pause(words) => (pause(words, y), PAUSE_HEIGHT),
        };
        marks.push(mark);
        y += height;
    }
    Layout {
        height: y + 24,
        marks,
    }
}

/// The lifeline of `party`.
pub(crate) const fn x(party: Party) -> i32 {
    match party {
        Party::Browser => 110,
        Party::Consumer => 350,
        Party::Broker => 605,
        Party::Provider => 850,
    }
}

pub(crate) fn mood(mood: Mood) -> &'static str {
    match mood {
        Mood::Plain => "plain",
        Mood::Inferred => "inferred",
        Mood::Refused => "refused",
        Mood::Struck => "struck",
    }
}

fn line(arrow: &Arrow, top: i32, says: String) -> Mark {
    let y = top + 34;
    let (from, aim) = (x(arrow.from), x(arrow.to));
    let to = if arrow.arrives {
        aim
    } else {
        from + (aim - from) * 3 / 4
    };
    // The head points the way that the arrow goes.
    let back = if aim > from { -11 } else { 11 };
    let head = format!("{to},{y} {},{} {},{}", to + back, y - 6, to + back, y + 6);
    Mark::Line(Line {
        id: arrow.id.clone(),
        y,
        from,
        to,
        middle: i32::midpoint(from, to),
        left: from.min(aim) - 6,
        width: (aim - from).abs() + 12,
        head,
        mood: mood(arrow.mood),
        arrives: arrow.arrives,
        words: arrow.words.clone(),
        says,
        exchange: arrow.exchange.clone(),
    })
}

fn pill(steps: &[&str], y: i32) -> Mark {
    let words = format!("✓ committed: {}", steps.join(", "));
    let letters = i32::try_from(words.chars().count()).unwrap_or_default();
    Mark::Pill {
        y: y + 7,
        x: x(Party::Broker),
        width: letters * LETTER + 16,
        words,
    }
}

fn pause(words: &str, y: i32) -> Mark {
    Mark::Pause {
        y: y + 24,
        words: words.to_owned(),
    }
}

fn boxed(aside: &Aside, top: i32) -> (Mark, i32) {
    let advice = aside.advice.map(|advice| format!("What to do: {advice}"));
    let law = aside.law.as_ref().map(|law| format!("Law: {law}"));
    let texts = aside.says.iter().cloned().chain(law).chain(advice);
    let title = (true, aside.title.clone());
    let plain = texts
        .flat_map(|text| wrapped(&text))
        .map(|text| (false, text));
    let mut lines = Vec::new();
    let mut y = top + 6 + ASIDE_PADDING + 12;
    for (is_title, words) in std::iter::once(title).chain(plain) {
        lines.push(Text { y, is_title, words });
        y += LINE_HEIGHT;
    }
    let height = y - LINE_HEIGHT + ASIDE_PADDING - top - 2;
    let mark = Mark::Box {
        y: top + 6,
        height,
        mood: mood(aside.mood),
        lines,
    };
    (mark, height + 18)
}

/// `text` in lines that fit.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= LINE_LETTERS {
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
                .all(|line| line.chars().count() <= LINE_LETTERS)
        );
        assert_eq!(lines.join(" "), text.trim());
    }

    #[test]
    fn rows_stand_below_one_another_and_inside_the_picture() {
        let aside = Row::Aside(Aside {
            mood: Mood::Refused,
            title: "Refused".to_owned(),
            says: vec!["because ".repeat(60)],
            law: None,
            advice: None,
        });
        let commit = Row::Committed(vec!["opened"]);
        let layout = place(&[aside, commit], &|_| String::new());
        let [
            Mark::Box {
                y, height, lines, ..
            },
            Mark::Pill { y: below, .. },
        ] = &layout.marks[..]
        else {
            panic!("{layout:?}");
        };
        assert!(lines.iter().all(|line| line.y > *y && line.y < y + height));
        assert!(*below >= y + height && below + 30 < layout.height);
    }
}
