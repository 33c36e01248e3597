//! The sequence diagram of a run: a lifeline for each party, an arrow for each exchange, with the
//! request above it and the answer below.

use std::collections::{BTreeMap, BTreeSet};

use stack::sequence_diagram::{DiagramArrow, Frame, SequenceDiagram};

use crate::transcript::TranscriptLine;

const LANE_WIDTH: i32 = 170;
const HEAD_WIDTH: i32 = 154;
const MIN_WIDTH: i32 = 616;

/// The length from which a query is shortened to the names of its parameters.
const LONG_LABEL: usize = 100;

/// The parameters of a shortened query.
const SHOWN_PARAMETERS: usize = 3;

/// The arrows that a diagram shows; a longer run loses its middle.
const MAX_ARROWS: usize = 36;
const FIRST_ARROWS: usize = 12;

/// The browsers that have lanes of their own. Of more, those with one name share one.
const MAX_BROWSERS: usize = 4;

/// Draws `transcript`, as part of a page or as a file.
pub(crate) fn draw(title: &str, transcript: &[TranscriptLine], frame: &Frame<'_>) -> String {
    let transcript = &in_lanes(transcript);
    let parties = parties(transcript);
    let count = i32::try_from(parties.len()).unwrap_or(i32::MAX);
    let width = (count * LANE_WIDTH + 10).max(MIN_WIDTH);
    let spacing = width / count.max(1);
    let middles = (0..count).map(|lane| spacing / 2 + lane * spacing);
    let mut diagram = SequenceDiagram::new(title.to_owned(), width);
    let mut lanes = BTreeMap::new();
    for (name, x) in parties.into_iter().zip(middles) {
        diagram.lifeline(x, HEAD_WIDTH, name, None);
        lanes.insert(name, x);
    }
    // The same exchange several times in turn is one, with their number.
    let rows: Vec<_> = transcript.chunk_by(is_same).collect();
    let left_out = rows.len().saturating_sub(MAX_ARROWS);
    let middle = FIRST_ARROWS..FIRST_ARROWS + left_out;
    let mut skipped = 0;
    for (index, exchanges) in rows.into_iter().enumerate() {
        let wrong = exchanges.iter().find(|line| line.is_wrong);
        if middle.contains(&index) && wrong.is_none() {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            diagram.divider("pause", format!("{skipped} more exchanges"));
            skipped = 0;
        }
        let line = wrong.unwrap_or(&exchanges[0]);
        let (label, detail) = texts(line, exchanges.len());
        diagram.arrow(DiagramArrow {
            from: lanes[&*line.from],
            to: lanes[&*line.to],
            style: style(line),
            label,
            detail,
            ..DiagramArrow::default()
        });
    }
    diagram.draw(frame)
}

fn is_same(one: &TranscriptLine, other: &TranscriptLine) -> bool {
    (&one.from, &one.to, &one.what) == (&other.from, &other.to, &other.what)
}

/// The exchanges, those of many browsers in shared lanes, with the number of the browser.
fn in_lanes(transcript: &[TranscriptLine]) -> Vec<TranscriptLine> {
    let mut lines = transcript.to_vec();
    let names = transcript.iter().map(|line| &line.from);
    let browsers: BTreeSet<_> = names.filter(|name| name.contains("browser")).collect();
    if browsers.len() > MAX_BROWSERS {
        for line in &mut lines {
            if let Some((name, number)) = line.from.split_once(" (") {
                line.what = format!("({number} {}", line.what);
                line.from = name.to_owned();
            }
        }
    }
    lines
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
    for name in transcript.iter().flat_map(|it| [&*it.from, &*it.to]) {
        if !parties.contains(&name) {
            parties.push(name);
        }
    }
    parties.sort_by_key(|name| rank(name));
    parties
}

/// The texts above and below the arrow of an exchange.
fn texts(line: &TranscriptLine, times: usize) -> (String, Option<String>) {
    let (asked, answer) = match line.what.split_once(" \u{2192} ") {
        Some((asked, answer)) => (asked, Some(format!("\u{2192} {answer}"))),
        None => (line.what.as_str(), None),
    };
    let sign = if line.is_wrong { "\u{2717} " } else { "" };
    let again = match times {
        1 => String::new(),
        _ => format!(" (\u{d7} {times})"),
    };
    let above = format!("{sign}{}{again}", label(asked));
    (above, answer.map(|it| label(&it)))
}

/// A request or an answer, short enough for an arrow: the list of exchanges has it whole.
fn label(text: &str) -> String {
    // A mask stays on one line.
    let text = text.replace("[masked ", "[masked\u{a0}");
    let Some((start, query)) = text
        .split_once('?')
        .filter(|_| text.chars().count() > LONG_LABEL)
    else {
        return text;
    };
    let parameters = query.split('&').take(SHOWN_PARAMETERS);
    let names: Vec<_> = parameters.filter_map(|it| it.split('=').next()).collect();
    format!("{start}?{}&\u{2026}", names.join("&"))
}

fn style(line: &TranscriptLine) -> &'static str {
    match line {
        _ if line.is_wrong => "refused",
        _ if line.from == "examiner" || line.what.contains(", fault ") => "faulted",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs with everything that is not shown as it was recorded. Of each diagram a snapshot has
    /// the texts with their places, and the arrows.
    #[test]
    fn a_diagram_has_browsers_on_the_left_and_never_loses_the_wrong_arrow() {
        let long_query = format!("GET /?client_id=1&state=2&scope=3&{}", "x".repeat(80));
        let parties = [
            ("examiner", "broker", "the next POST /v1/token meets: drop"),
            ("browser A", "https://evil.example", "GET /"),
            ("browser B", "github", "GET /authorize, fault delay"),
            ("examiner", "clock", "600 s pass"),
            ("browser A", "app", &long_query),
        ];
        let parties = parties.map(|(from, to, what)| TranscriptLine::new(0, from, to, what));
        let get = |from: &str, number: u32| {
            TranscriptLine::new(0, from, "app", format!("GET /{number} \u{2192} 200"))
        };
        let many = (2..9).map(|number| get(&format!("browser A ({number})"), 1));
        let mut long: Vec<_> = (0..150).map(|it| get("browser A", it / 3 * 3)).collect();
        long[47].is_wrong = true;
        let runs = [parties.to_vec(), many.collect(), long];
        let drawn = runs.map(|run| draw("a run", &run, &Frame::Figure)).concat();
        let shown = drawn.lines();
        let shown = shown.filter(|it| it.contains("<text") || it.contains("<line"));
        insta::assert_snapshot!("diagrams", Vec::from_iter(shown).join("\n"));
    }
}
