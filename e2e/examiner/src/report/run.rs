//! The sequence diagram of a run: a lifeline for each party, an arrow for each exchange, with the
//! request above it and the answer below.

use std::collections::BTreeSet;

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

/// Draws `transcript`.
pub(super) fn draw(title: &str, transcript: &[TranscriptLine]) -> String {
    let transcript = &in_lanes(transcript);
    let parties = parties(transcript);
    let lane_count = i32::try_from(parties.len()).unwrap_or(i32::MAX);
    let width = (lane_count * LANE_WIDTH + 10).max(MIN_WIDTH);
    let spacing = width / lane_count.max(1);
    let x_of = |name: &str| {
        let lanes = parties.iter().take_while(|its| **its != name);
        lanes.fold(spacing / 2, |x, _| x + spacing)
    };
    let mut diagram = SequenceDiagram::new(title.to_owned(), width);
    for &name in &parties {
        diagram.lifeline(x_of(name), HEAD_WIDTH, name, None);
    }
    let rows = rows(transcript);
    let left_out = rows.len().saturating_sub(MAX_ARROWS);
    let middle = FIRST_ARROWS..FIRST_ARROWS + left_out;
    let mut skipped = 0;
    for (index, (line, times)) in rows.into_iter().enumerate() {
        if middle.contains(&index) && !line.is_wrong {
            skipped += 1;
            continue;
        }
        if skipped > 0 {
            diagram.divider("pause", format!("{skipped} more exchanges"));
            skipped = 0;
        }
        let (label, detail) = texts(line, times);
        diagram.arrow(DiagramArrow {
            from: x_of(&line.from),
            to: x_of(&line.to),
            style: style(line),
            label,
            detail,
            ..DiagramArrow::default()
        });
    }
    diagram.draw(&Frame::Figure)
}

/// The exchanges, those of many browsers in shared lanes, with the number of the browser.
fn in_lanes(transcript: &[TranscriptLine]) -> Vec<TranscriptLine> {
    let mut lines = transcript.to_vec();
    let names = lines.iter().map(|line| line.from.clone());
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

/// The exchanges; the same one several times in turn is one, with their number.
fn rows(transcript: &[TranscriptLine]) -> Vec<(&TranscriptLine, usize)> {
    let mut rows: Vec<(&TranscriptLine, usize)> = Vec::new();
    for line in transcript {
        match rows.last_mut() {
            Some((last, times)) if is_same(last, line) => {
                *times += 1;
                if line.is_wrong {
                    *last = line;
                }
            }
            _ => rows.push((line, 1)),
        }
    }
    rows
}

fn is_same(one: &TranscriptLine, other: &TranscriptLine) -> bool {
    (&one.from, &one.to, &one.what) == (&other.from, &other.to, &other.what)
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
    match text.split_once('?') {
        Some((start, query)) if text.chars().count() > LONG_LABEL => {
            let names = query
                .split('&')
                .map(|it| it.split('=').next().unwrap_or(it));
            let names: Vec<_> = names.take(SHOWN_PARAMETERS).collect();
            format!("{start}?{}&\u{2026}", names.join("&"))
        }
        _ => text,
    }
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

    fn line(from: &str, to: &str, what: &str) -> TranscriptLine {
        TranscriptLine::new(0, from, to, what)
    }

    #[test]
    fn browsers_are_left_of_the_app_and_the_examiner_is_on_the_right() {
        let transcript = [
            line("examiner", "broker", "the next POST /v1/token meets: drop"),
            line("browser A", "app", "GET /"),
            line("browser A", "https://evil.example", "GET /"),
            line("browser B", "github", "GET /"),
            line("examiner", "clock", "600 s pass"),
        ];
        let expected = [
            "browser A",
            "browser B",
            "app",
            "broker",
            "github",
            "https://evil.example",
            "clock",
            "examiner",
        ];
        assert_eq!(parties(&transcript), expected);
    }

    #[test]
    fn many_browsers_of_one_name_share_a_lane_and_keep_their_numbers() {
        let names: Vec<_> = (2..9)
            .map(|number| format!("browser A ({number})"))
            .collect();
        let lines: Vec<_> = names
            .iter()
            .map(|it| line(it, "app", "GET / \u{2192} 200"))
            .collect();
        assert_eq!(parties(&in_lanes(&lines)), ["browser A", "app"]);
        assert!(draw("many", &lines).contains("(8) GET /"));
        assert_eq!(
            parties(&in_lanes(&lines[..2])),
            ["browser A (2)", "browser A (3)", "app"]
        );
    }

    #[test]
    fn a_long_run_loses_its_middle_but_never_the_wrong_arrow() {
        let mut transcript: Vec<_> = (0..200)
            .map(|number| line("browser A", "app", &format!("GET /{number} \u{2192} 200")))
            .collect();
        // The same exchange in turn is one arrow.
        transcript.splice(0..1, vec![transcript[0].clone(); 20]);
        transcript[119].is_wrong = true;
        let svg = draw("long", &transcript);
        assert_eq!(svg.matches("<polygon").count(), MAX_ARROWS + 1);
        assert_eq!(svg.matches("step refused").count(), 1);
        assert!(svg.contains("✗ GET /100"), "{svg}");
        assert!(svg.contains("(× 20)"), "{svg}");
        assert!(svg.contains("88 more exchanges") && svg.contains("75 more exchanges"));
    }

    #[test]
    fn a_long_query_is_shortened_to_its_first_names() {
        let short = "GET /callback?state=[masked\u{a0}abcdefgh]&code=[masked\u{a0}ijklmnop]";
        assert_eq!(label(short), short);
        let long = format!(
            "GET /authorize?client_id=1&state=2&scope=3&{}",
            "x".repeat(80)
        );
        assert_eq!(
            label(&long),
            "GET /authorize?client_id&state&scope&\u{2026}"
        );
    }
}
