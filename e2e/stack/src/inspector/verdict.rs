//! The verdict on a login, above its diagram: how it ended, and what was done to it.

use std::collections::HashSet;

use super::rows::{Note, Row};
use crate::facts::Style;

/// The number of lines of a verdict.
const MAX_LINES: usize = 4;

/// The lines of the verdict on a sequence, each with the id of its arrow: its end first, then the
/// latest of what was done to it.
pub(crate) fn verdict(rows: &[Row]) -> Vec<(Note, &str)> {
    let mut arrow = "";
    let mut end = None;
    let mut lines = Vec::new();
    for row in rows {
        match row {
            Row::Arrow(it) => {
                arrow = &it.id;
                let ended = it.detail.as_deref().and_then(|it_is| match it.style {
                    Style::Succeeded => Some(Note::of_end(it.style, "✓ Signed in", it_is)),
                    Style::Refused if end.is_none() => Some(Note::of_failure(it_is, "")),
                    _ => None,
                });
                end = ended.map(|note| (note, arrow)).or(end);
            }
            Row::Note(note) => match (note.error, note.style) {
                (Some(error), _) if end.is_none() => {
                    end = Some((Note::of_failure(error, note.reason()), arrow));
                }
                (None, Style::Refused | Style::Faulted) if !note.is_repeated => {
                    lines.push((note.clone(), arrow));
                }
                _ => {}
            },
            _ => {}
        }
    }
    let mut seen = HashSet::new();
    let latest = lines.into_iter().rev();
    let latest = latest.filter(|(note, _)| seen.insert(note.title.clone()));
    end.into_iter().chain(latest).take(MAX_LINES).collect()
}
