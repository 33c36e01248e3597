//! Texts that come from an app, made harmless for a terminal, an editor and XML.

use crate::transcript::TranscriptLine;

/// The text with `\u{fffd}` for every control character, and for the characters that
/// change the direction of what follows.
pub(crate) fn printable(text: &str) -> String {
    let is_bidirectional = |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_noncharacter = |c: char| matches!(c, '\u{fffe}'..='\u{ffff}');
    text.chars()
        .map(|c| match c {
            _ if c.is_control() || is_bidirectional(c) || is_noncharacter(c) => '\u{fffd}',
            _ => c,
        })
        .collect()
}

/// The lines of a transcript, made harmless.
pub(super) fn printable_transcript(transcript: &mut [TranscriptLine]) {
    for line in transcript {
        for text in [&mut line.from, &mut line.to, &mut line.what] {
            *text = printable(text);
        }
    }
}
