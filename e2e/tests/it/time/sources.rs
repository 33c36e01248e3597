//! SQL and scripts that would read another clock. (Clippy cannot see those; Rust's
//! clocks are forbidden in `.clippy.toml`.)

use std::fs;
use std::path::{Path, PathBuf};

/// The words of SQL that read the database's time.
const OF_DATABASES: &[&str] = &[
    "now()",
    "'now'",
    "clock_timestamp",
    "statement_timestamp",
    "current_date",
    "current_time",
    "localtime",
    "unixepoch",
    "julianday",
    "strftime",
];

/// The expressions that read the browser's time. `new Date(at)` only formats one.
const OF_BROWSERS: &[&str] = &[
    "date.now",
    "new date()",
    "performance.now",
    "http-equiv=\"refresh\"",
];

/// The folders with SQL and with scripts, from the top of the tree.
const FOLDERS: &[(&str, &[&str], &[&str])] = &[
    ("broker/src/store", &["rs", "sql"], OF_DATABASES),
    ("broker/templates", &["html", "js", "css"], OF_BROWSERS),
    ("consumer-demo/templates", &["html", "js"], OF_BROWSERS),
    ("consumer-demo/static", &["html", "js", "css"], OF_BROWSERS),
    ("mock-upstream/templates", &["html", "js"], OF_BROWSERS),
    ("e2e/stack/templates", &["html", "js"], OF_BROWSERS),
];

#[test]
fn no_statement_and_no_page_reads_another_clock() {
    for (folder, endings, forbidden) in FOLDERS {
        let files = files_in(Path::new(folder), endings);
        assert!(!files.is_empty(), "there is nothing in {folder}");
        for file in files {
            let text = fs::read_to_string(top().join(&file)).expect("a text");
            if let Some((line, found)) = offence(&text, forbidden) {
                panic!("{}:{line}: {found} asks another clock", file.display());
            }
        }
    }
}

#[test]
fn an_offence_is_found_by_its_line() {
    let check = |text, forbidden, expected| assert_eq!(offence(text, forbidden), expected);
    check(
        "DELETE FROM a\nWHERE ends < NOW()",
        OF_DATABASES,
        Some((2, "now()")),
    );
    check(
        "VALUES (CURRENT_TIMESTAMP)",
        OF_DATABASES,
        Some((1, "current_time")),
    );
    check("const t = Date.now();", OF_BROWSERS, Some((1, "date.now")));
    check("// nothing is asked with now()", OF_DATABASES, None);
    check("let ours = clock.now();", OF_DATABASES, None);
    check("thread::yield_now();", OF_DATABASES, None);
    check(
        "SELECT extract(epoch FROM clock_timestamp())",
        OF_DATABASES,
        None,
    );
    check(
        "WHERE ends < clock_timestamp()",
        OF_DATABASES,
        Some((1, "clock_timestamp")),
    );
    check(
        "let now = clock.now();\nnew Date(event.at)",
        OF_BROWSERS,
        None,
    );
}

/// What may be there: the clock that is handed in, the database's in the one statement
/// that compares the two, and a yield, which reads none.
const ALLOWED: [&str; 3] = [
    "clock.now()",
    "extract(epoch from clock_timestamp())",
    "thread::yield_now()",
];

/// The first line, from 1, that has one of `forbidden` outside a comment.
fn offence(text: &str, forbidden: &[&'static str]) -> Option<(usize, &'static str)> {
    let lines = text.lines().map(str::trim).map(str::to_lowercase);
    let lines = lines.map(|line| ALLOWED.iter().fold(line, |line, it| line.replace(it, "")));
    (1..).zip(lines).find_map(|(number, line)| {
        let is_comment = line.starts_with("//") || line.starts_with("--");
        let found = forbidden.iter().find(|it| line.contains(**it))?;
        (!is_comment).then_some((number, *found))
    })
}

/// The files in `folder`, from the top of the tree.
fn files_in(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(top().join(folder)).expect("a folder of the tree");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| folder.join(name))
        .flat_map(|path| match top().join(&path).is_dir() {
            true => files_in(&path, endings),
            false => vec![path],
        })
        .filter(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| endings.contains(&ending))
        })
        .collect()
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
