//! The regions of the reference consumers: the same part of an app in each language, between
//! marks in comments such as `# [callback]`.

use crate::sources::{LANGUAGES, Language};

/// A region in one language.
pub(crate) struct Excerpt {
    pub(crate) language: &'static str,
    /// The file, and the line at which it begins.
    pub(crate) place: String,
    pub(crate) code: String,
}

/// The region in each language that has it.
pub(crate) fn excerpts(region: &str) -> impl Iterator<Item = Excerpt> {
    LANGUAGES.iter().filter_map(move |it| excerpt(it, region))
}

fn excerpt(language: &Language, region: &str) -> Option<Excerpt> {
    let pieces = language.files.iter().flat_map(|file| {
        let pieces = pieces_of(file.text, region).into_iter();
        pieces.map(move |(line, code)| (format!("{}:{line}", short(file.path)), code))
    });
    let (places, codes): (Vec<_>, Vec<_>) = pieces.unzip();
    Some(Excerpt {
        language: language.name,
        place: places.into_iter().next()?,
        code: codes.join("\n\n"),
    })
}

/// The path below the consumer's own folder: `app.py`.
fn short(path: &str) -> &str {
    let below = path.strip_prefix("e2e/consumers/");
    below
        .and_then(|it| it.split_once('/'))
        .map_or(path, |(_, it)| it)
}

/// The pieces of a region, each with the number of its first line: what stands between a mark
/// of it, such as `# [start]`, and the next mark; `[/]` is the mark of what belongs to none.
#[must_use]
pub fn pieces_of(text: &str, region: &str) -> Vec<(usize, String)> {
    let lines: Vec<_> = (1..).zip(text.lines()).collect();
    let pieces = lines.chunk_by(|_, (_, next)| mark(next).is_none());
    let own = pieces.filter(|lines| mark(lines[0].1) == Some(region));
    let codes = own.map(|lines| {
        let (number, first) = lines[0];
        // What a mark says of its region is a comment of it.
        let says = first.replacen(&format!(" [{region}]"), "", 1);
        let says = Some(says.as_str()).filter(|it| it.contains(char::is_alphabetic));
        let rest = lines[1..].iter().map(|(_, line)| *line);
        let lines: Vec<_> = says.into_iter().chain(rest).collect();
        let code = textwrap::dedent(&lines.join("\n").replace('\t', "    "));
        (number, code.trim_matches('\n').to_owned())
    });
    codes.collect()
}

/// The name in a mark; none in another line.
fn mark(line: &str) -> Option<&str> {
    let (comment, rest) = line.trim_start().split_once(" [")?;
    let (name, _) = rest.split_once(']')?;
    let is_comment = ["#", "//", "{#"].contains(&comment);
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '/';
    (is_comment && name.chars().all(is_name)).then_some(name)
}
