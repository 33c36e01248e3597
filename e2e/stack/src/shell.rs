//! Text in the commands that the stack shows to be copied.

/// `text` as one word that a shell takes as it is: in single quotes, where a POSIX shell
/// reads nothing, not even its history. A single quote stands outside of them, escaped, and
/// so does a backslash, which fish reads within them.
pub(crate) fn quoted(text: &str) -> String {
    let escape = |character| match character {
        '\'' | '\\' => format!("'\\{character}'"),
        other => other.to_string(),
    };
    format!("'{}'", text.chars().map(escape).collect::<String>())
}
