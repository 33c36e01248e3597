//! `THREATS.md` has an entry for every threat of the catalogue. Its lists of tests are made
//! from the tests: one whose name begins with an id (`b05_…`) covers that threat, and a
//! comment above a test, `// Threats: X1, W1.`, names more. `just threats` writes the lists.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::tree::{files_in, read, top};

/// Every id that the page must have, in its order: the threat catalogue's own and
/// those of published flaws. What is taken out here was decided to be no threat.
const CATALOGUE: &str = include_str!("threats/catalogue.txt");

/// The beginnings of a remark that stands for a test.
const REASONS: [&str; 3] = ["Not yet: ", "Does not apply: ", "Held by the build: "];

/// The page's own lines of an entry.
struct Entry {
    /// With the lines before it: headings, and what they say.
    title: String,
    id: String,
    remarks: Vec<String>,
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the one setting of this test")]
fn the_page_has_every_id_of_the_catalogue_once_with_its_tests_or_a_reason() {
    let page = top().join("e2e/THREATS.md");
    let published = read(&page);
    let entries = entries(&published);
    let ids: Vec<_> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, CATALOGUE.lines().collect::<Vec<_>>());

    let tests = tests();
    for (id, tests) in &tests {
        assert!(ids.contains(&id.as_str()), "{id} of {tests:?} is no threat");
    }
    let mut text = String::new();
    for entry in &entries {
        let tests = tests.get(&entry.id).map_or(&[][..], Vec::as_slice);
        let has_reason = |remark: &String| REASONS.iter().any(|it| remark.starts_with(it));
        let is_covered = !tests.is_empty() || entry.remarks.iter().any(has_reason);
        assert!(is_covered, "{} has no test and no reason", entry.id);
        let _ = writeln!(text, "{}\n", entry.title);
        for test in tests {
            let _ = writeln!(text, "- `{test}`");
        }
        for remark in &entry.remarks {
            let _ = writeln!(text, "- {remark}");
        }
        text.push('\n');
    }
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("PUBLISH_THREATS").is_some() {
        fs::write(page, text).expect("the page can be written");
    } else {
        assert!(
            published == text,
            "the page is old: `just threats` writes it"
        );
    }
}

/// The entries of the page, without its lists of tests.
fn entries(page: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut before = String::new();
    for line in page.lines() {
        if let Some((id, _)) = line.strip_prefix("**").and_then(|it| it.split_once("** ")) {
            entries.push(Entry {
                title: std::mem::take(&mut before) + line,
                id: id.to_owned(),
                remarks: Vec::new(),
            });
        } else if let Some(item) = line.strip_prefix("- ").filter(|_| !entries.is_empty()) {
            let entry = entries.last_mut().expect("there is one");
            if !item.starts_with('`') {
                entry.remarks.push(item.to_owned());
            }
        } else if !line.is_empty() || entries.is_empty() || !before.is_empty() {
            let _ = writeln!(before, "{line}");
        }
    }
    entries
}

/// The tests by the threats that they cover, as `file::name`.
fn tests() -> BTreeMap<String, Vec<String>> {
    let mut tests: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in files_in(&top(), &["rs"]) {
        let text = read(&file);
        let path = file.strip_prefix(top()).expect("it is below").display();
        let mut named = Vec::new();
        for line in text.lines() {
            if let Some(ids) = line.trim_start().strip_prefix("// Threats: ") {
                named.extend(ids.trim_end_matches('.').split(", ").map(str::to_owned));
            } else if let Some(name) = function(line) {
                for id in named.drain(..).chain(id_of(name)) {
                    tests.entry(id).or_default().push(format!("{path}::{name}"));
                }
            }
        }
        assert!(named.is_empty(), "{path}: {named:?} are above no test");
    }
    tests
}

/// The name of the function, or of the row of a table of tests, that begins on a line.
fn function(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ").or_else(|| line.split_once(": "))?;
    let (name, after) = rest.split_at(rest.find(|it: char| !it.is_alphanumeric() && it != '_')?);
    (after.starts_with(['(', '<']) || after.starts_with(" =>")).then_some(name)
}

/// `b05_a_sentence` is about B5.
fn id_of(name: &str) -> Option<String> {
    let (head, _) = name.split_once('_')?;
    let (letter, number) = head.split_at_checked(1)?;
    let id = format!("{}{}", letter.to_uppercase(), number.parse::<u32>().ok()?);
    CATALOGUE.lines().any(|it| it == id).then_some(id)
}
