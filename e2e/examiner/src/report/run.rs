//! The sequence diagram of a run, drawn as SVG: a lane for each party, an arrow for each
//! exchange, with the request above it and the answer below.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use askama::Template;

use crate::transcript::TranscriptLine;

const LANE_WIDTH: i32 = 132;
const HEAD_WIDTH: i32 = 120;
const MIN_WIDTH: i32 = 480;
const TOP: i32 = 58;
const LINE_HEIGHT: i32 = 17;
const ARROW_GAP: i32 = 16;

/// The approximate width of a character of a label, in tenths of a unit.
const CHARACTER_TENTHS: i32 = 80;

/// The length from which a query is shortened to the names of its parameters.
const LONG_LABEL: usize = 100;

/// The parameters of a shortened query.
const SHOWN_PARAMETERS: usize = 3;

/// The arrows that a diagram shows; a longer run loses its middle.
const MAX_ARROWS: usize = 36;
const FIRST_ARROWS: usize = 12;

#[derive(Template)]
#[template(path = "run.svg")]
struct Diagram<'a> {
    title: &'a str,
    width: i32,
    height: i32,
    top: i32,
    lanes: Vec<Lane>,
    shapes: Vec<Shape>,
}

struct Lane {
    x: i32,
    lines: Vec<Text>,
}

enum Shape {
    Arrow(Arrow),
    Gap { y: i32, text: String },
}

struct Arrow {
    class: &'static str,
    path: String,
    head: String,
    texts: Vec<Text>,
}

struct Text {
    x: i32,
    y: i32,
    text: String,
}

/// Draws `transcript`.
pub(super) fn draw(title: &str, transcript: &[TranscriptLine]) -> String {
    let parties = parties(transcript);
    let lane_count = i32::try_from(parties.len()).unwrap_or(i32::MAX);
    let width = (lane_count * LANE_WIDTH + 8).max(MIN_WIDTH);
    let spacing = width / lane_count.max(1);
    let x_of = |index: usize| spacing / 2 + spacing * i32::try_from(index).unwrap_or_default();
    let lanes = parties.iter().enumerate();
    let lanes = lanes.map(|(index, name)| lane(x_of(index), name)).collect();
    let positions: HashMap<&str, i32> = parties
        .iter()
        .enumerate()
        .map(|(index, name)| (*name, x_of(index)))
        .collect();
    let mut shapes = Vec::new();
    let mut y = TOP + 8;
    for row in rows(transcript) {
        match row {
            Row::Exchange { line, times } => {
                let ends = (positions[line.from.as_str()], positions[line.to.as_str()]);
                shapes.push(Shape::Arrow(arrow(line, times, ends, width, &mut y)));
            }
            Row::LeftOut(number) => {
                let text = format!("{number} more exchanges");
                y += 32;
                shapes.push(Shape::Gap { y: y - 12, text });
            }
        }
    }
    let diagram = Diagram {
        title,
        width,
        height: y + 12,
        top: TOP,
        lanes,
        shapes,
    };
    diagram.render().unwrap_or_else(|error| error.to_string())
}

/// The parties of a run, from left to right: browsers, the app, the broker, the rest.
fn parties(transcript: &[TranscriptLine]) -> Vec<&str> {
    let rank = |name: &str| match name {
        "app" => 1,
        "broker" => 2,
        "google" => 3,
        "github" => 4,
        "clock" => 6,
        "examiner" => 7,
        address if address.contains("://") => 5,
        _ => 0,
    };
    let mut parties: Vec<&str> = Vec::new();
    for name in transcript
        .iter()
        .flat_map(|it| [it.from.as_str(), it.to.as_str()])
    {
        if !parties.contains(&name) {
            parties.push(name);
        }
    }
    parties.sort_by_key(|name| rank(name));
    parties
}

enum Row<'a> {
    Exchange {
        line: &'a TranscriptLine,
        times: usize,
    },
    LeftOut(usize),
}

/// The rows of a diagram: the same exchange several times in turn is one row, and a long
/// run keeps its beginning, its end, and where it went wrong.
fn rows(transcript: &[TranscriptLine]) -> Vec<Row<'_>> {
    let mut kept: Vec<(&TranscriptLine, usize)> = Vec::new();
    for line in transcript {
        match kept.last_mut() {
            Some((last, times)) if is_same(last, line) => {
                *times += 1;
                if line.is_wrong {
                    *last = line;
                }
            }
            _ => kept.push((line, 1)),
        }
    }
    let left_out = kept.len().saturating_sub(MAX_ARROWS);
    let middle = FIRST_ARROWS..FIRST_ARROWS + left_out;
    let mut rows = Vec::new();
    let mut skipped = 0;
    for (index, (line, times)) in kept.into_iter().enumerate() {
        if middle.contains(&index) && !line.is_wrong {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            rows.push(Row::LeftOut(std::mem::take(&mut skipped)));
        }
        rows.push(Row::Exchange { line, times });
    }
    rows
}

fn is_same(one: &TranscriptLine, other: &TranscriptLine) -> bool {
    (&one.from, &one.to, &one.what) == (&other.from, &other.to, &other.what)
}

fn lane(x: i32, name: &str) -> Lane {
    let lines = wrapped(name, HEAD_WIDTH - 8);
    let height = i32::try_from(lines.len()).unwrap_or_default() * LINE_HEIGHT;
    let first = 8 + (44 - height) / 2 + 13;
    Lane {
        x,
        lines: below_one_another(lines, x, first),
    }
}

/// One exchange, placed below `y`, which moves on.
fn arrow(
    line: &TranscriptLine,
    times: usize,
    (from, to): (i32, i32),
    width: i32,
    y: &mut i32,
) -> Arrow {
    let (asked, answer) = match line.what.split_once(" \u{2192} ") {
        Some((asked, answer)) => (asked, format!("\u{2192} {answer}")),
        None => (line.what.as_str(), String::new()),
    };
    let sign = if line.is_wrong { "\u{2717} " } else { "" };
    let again = if times > 1 {
        format!(" (\u{d7} {times})")
    } else {
        String::new()
    };
    let above = wrapped(&format!("{sign}{}{again}", label(asked)), width - 16);
    let below = wrapped(&label(&answer), width - 16);
    let above_height = i32::try_from(above.len()).unwrap_or_default() * LINE_HEIGHT;
    let below_height = i32::try_from(below.len()).unwrap_or_default() * LINE_HEIGHT;

    let top = *y + ARROW_GAP;
    let arrow_y = top + above_height - 4;
    *y = arrow_y + 6 + below_height;
    let middle = i32::midpoint(from, to);
    let mut texts = below_one_another(above, middle, top + 4);
    texts.extend(below_one_another(below, middle, arrow_y + LINE_HEIGHT));
    for text in &mut texts {
        let half = text_width(&text.text) / 2 + 6;
        text.x = text
            .x
            .clamp(half.min(width / 2), (width - half).max(width / 2));
    }
    let (path, head) = shaft(from, to, arrow_y);
    Arrow {
        class: class(line),
        path,
        head,
        texts,
    }
}

/// A request or an answer, short enough for an arrow: the list of exchanges has it whole.
fn label(text: &str) -> String {
    match text.split_once('?') {
        Some((start, query)) if text.chars().count() > LONG_LABEL => {
            let names = query
                .split('&')
                .map(|it| it.split('=').next().unwrap_or(it));
            let names: Vec<_> = names.take(SHOWN_PARAMETERS).collect();
            format!("{start}?{}&\u{2026}", names.join("&"))
        }
        _ => text.to_owned(),
    }
}

/// The path of an arrow, and the points of its head.
fn shaft(from: i32, to: i32, y: i32) -> (String, String) {
    if from == to {
        let (out, back) = (from + 24, y + 5);
        let path = format!("M{from} {} H{out} V{back} H{from}", y - 5);
        return (
            path,
            format!(
                "{from},{back} {0},{1} {0},{2}",
                from + 9,
                back - 5,
                back + 5
            ),
        );
    }
    let back = if to > from { -9 } else { 9 };
    let head = format!("{to},{y} {0},{1} {0},{2}", to + back, y - 5, y + 5);
    (format!("M{from} {y} H{to}"), head)
}

/// The classes are those of the inspector's diagram.
fn class(line: &TranscriptLine) -> &'static str {
    match line {
        _ if line.is_wrong => "step refused",
        _ if line.from == "examiner" || line.what.contains(", fault ") => "step faulted",
        _ => "step",
    }
}

fn below_one_another(lines: Vec<String>, x: i32, first: i32) -> Vec<Text> {
    let mut y = first - LINE_HEIGHT;
    let place = |text| {
        y += LINE_HEIGHT;
        Text { x, y, text }
    };
    lines.into_iter().map(place).collect()
}

fn wrapped(text: &str, width: i32) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let columns = usize::try_from(width * 10 / CHARACTER_TENTHS).unwrap_or(1);
    let options =
        textwrap::Options::new(columns).word_splitter(textwrap::WordSplitter::NoHyphenation);
    // A mask stays on one line.
    let text = text.replace("[masked ", "[masked\u{a0}");
    let lines = textwrap::wrap(&text, options);
    lines.into_iter().map(Cow::into_owned).collect()
}

fn text_width(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or_default() * CHARACTER_TENTHS / 10
}
