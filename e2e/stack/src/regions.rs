//! The regions of the reference consumers: the same part of an app in each language, between
//! marks in comments such as `# [callback]`.

use crate::sources::SourceFile;

/// A region in one language.
pub(crate) struct Excerpt {
    pub(crate) language: &'static str,
    /// The file, and the line at which it begins.
    pub(crate) place: String,
    pub(crate) code: String,
}

macro_rules! files {
    ($folder:literal: $($file:literal)+) => {
        &[$(($file, include_str!(concat!("../../consumers/", $folder, $file)))),+]
    };
}

/// A language with its files: their names and their texts.
type Language = (&'static str, &'static [(&'static str, &'static str)]);

const OTHERS: [Language; 2] = [
    ("Python", files!("python/": "app.py" "broker.py")),
    ("JavaScript", files!("node/": "app.mjs" "broker.mjs")),
];

/// The region in each language that has it.
pub(crate) fn excerpts(region: &str) -> Vec<Excerpt> {
    let rust = SourceFile::all().iter().map(|it| (it.path, it.text));
    let rust: Vec<_> = rust.collect();
    let all = OTHERS.into_iter().chain([("Rust", rust.as_slice())]);
    all.filter_map(|(language, files)| {
        let pieces = files.iter().flat_map(|(file, text)| {
            let pieces = pieces_of(text, region).into_iter();
            pieces.map(move |(line, code)| (format!("{file}:{line}"), code))
        });
        let (places, codes): (Vec<_>, Vec<_>) = pieces.unzip();
        Some(Excerpt {
            language,
            place: places.into_iter().next()?,
            code: codes.join("\n\n"),
        })
    })
    .collect()
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
