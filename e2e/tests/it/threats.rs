//! `THREATS.md` names tests that exist, and leaves out no id.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The catalogue's own series; the rest are published flaws under their own names.
const SERIES: [(&str, u32); 8] = [
    ("X", 12),
    ("V", 8),
    ("M", 12),
    ("A", 45),
    ("B", 30),
    ("C", 20),
    ("K", 4),
    ("L", 9),
];

/// What an entry says that names no test.
const REASONS: [&str; 3] = ["Not yet: ", "Does not apply: ", "Held by the build: "];

/// Where tests are, from the top of the tree.
const SUITES: [&str; 6] = [
    "broker/src",
    "broker/tests",
    "broker/contract/tests",
    "consumer-demo/tests",
    "e2e/tests",
    "e2e/prove/tests",
];

/// One id: the tests that show it (file, name), and what is said beside them.
struct Entry {
    id: String,
    tests: Vec<(String, String)>,
    remarks: Vec<String>,
}

#[test]
fn no_id_is_missing_and_none_comes_twice() {
    let ids: Vec<_> = entries().into_iter().map(|entry| entry.id).collect();
    let series = SERIES
        .iter()
        .flat_map(|(letter, last)| (1..=*last).map(move |n| format!("{letter}{n}")));
    let missing: Vec<_> = series.filter(|id| !ids.contains(id)).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");

    let mut seen = BTreeSet::new();
    let twice: Vec<_> = ids.iter().filter(|id| !seen.insert(*id)).collect();
    assert!(twice.is_empty(), "twice: {twice:?}");
    let strange = |id: &&String| id.len() < 4 && !is_of_a_series(id);
    assert_eq!(ids.iter().find(strange), None);
}

#[test]
fn every_test_that_is_named_exists() {
    for entry in entries() {
        for (file, name) in &entry.tests {
            let source = fs::read_to_string(top().join(file))
                .unwrap_or_else(|error| panic!("{}: {file}: {error}", entry.id));
            let exists = functions(&source).chain(rows(&source)).any(|it| it == name);
            assert!(exists, "{}: there is no {name} in {file}", entry.id);
        }
    }
}

#[test]
fn an_entry_names_a_test_or_a_reason() {
    for entry in entries() {
        let has_reason = entry.remarks.iter().any(|remark| {
            let reason = REASONS.iter().find_map(|word| remark.strip_prefix(word));
            reason.is_some_and(|reason| reason.ends_with('.'))
        });
        assert!(!entry.tests.is_empty() || has_reason, "{}", entry.id);
    }
}

#[test]
fn a_test_that_bears_an_id_stands_under_it() {
    let entries = entries();
    let mut found = 0;
    for file in SUITES.iter().flat_map(|place| sources(Path::new(place))) {
        let source = fs::read_to_string(top().join(&file)).expect("a source");
        for name in functions(&source) {
            let Some(id) = id_of(name) else { continue };
            found += 1;
            let listed = entries.iter().any(|entry| {
                let named = (file.display().to_string(), name.to_owned());
                entry.id == id && entry.tests.contains(&named)
            });
            assert!(listed, "{} is not under {id}", file.display());
        }
    }
    assert!(found > 50, "the suites have {found} such tests");
}

fn entries() -> Vec<Entry> {
    let page = fs::read_to_string(top().join("e2e/THREATS.md")).expect("the page");
    let mut entries: Vec<Entry> = Vec::new();
    for line in page.lines() {
        if let Some((id, _)) = line.strip_prefix("**").and_then(|it| it.split_once("** ")) {
            entries.push(Entry {
                id: id.to_owned(),
                tests: Vec::new(),
                remarks: Vec::new(),
            });
        } else if let Some(item) = line.strip_prefix("- ") {
            let entry = entries.last_mut().expect("an item stands under an id");
            let code = item.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
            match code.and_then(|it| it.rsplit_once("::")) {
                Some((file, name)) => entry.tests.push((file.to_owned(), name.to_owned())),
                None => entry.remarks.push(item.to_owned()),
            }
        }
    }
    entries
}

fn is_of_a_series(id: &str) -> bool {
    SERIES.iter().any(|(letter, last)| {
        let number = id
            .strip_prefix(letter)
            .and_then(|it| it.parse::<u32>().ok());
        number.is_some_and(|number| (1..=*last).contains(&number))
    })
}

/// `b05_a_sentence` is about B5.
fn id_of(name: &str) -> Option<String> {
    let (head, _) = name.split_once('_')?;
    let (letter, number) = head.split_at_checked(1)?;
    let id = format!("{}{}", letter.to_uppercase(), number.parse::<u32>().ok()?);
    is_of_a_series(&id).then_some(id)
}

/// The names of the functions that a source defines.
fn functions(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let (before, after) = line.split_once("fn ")?;
        let words = ["", "async", "pub(super)", "pub(crate)", "pub"];
        let is_definition = before.split_whitespace().all(|it| words.contains(&it));
        let (name, _) = after.split_once('(')?;
        is_definition.then_some(name)
    })
}

/// The names in a table of which each row is a test: `This is that: name => how;`.
fn rows(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let (case, row) = line.split_once(": ")?;
        let (name, _) = row.split_once(" => ")?;
        case.contains(" is ").then_some(name)
    })
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(top().join(folder)).expect("a folder of the tree");
    let paths = entries.map(|entry| folder.join(entry.expect("an entry").file_name()));
    paths
        .flat_map(|path| match top().join(&path).is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
