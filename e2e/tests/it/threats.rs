//! `THREATS.md` names existing tests, and has an entry for every id.

mod sources;

use std::path::Path;

/// Every id that the page must have, in its order: the threat catalogue's own and
/// those of published flaws. What is taken out here was decided to be no threat.
const CATALOGUE: &str = include_str!("threats/catalogue.txt");

/// The beginnings of a remark that stands for a test.
const REASONS: [&str; 3] = ["Not yet: ", "Does not apply: ", "Held by the build: "];

/// One id: its tests (file, name), and the remarks.
struct Entry {
    id: String,
    tests: Vec<(String, String)>,
    remarks: Vec<String>,
}

#[test]
fn the_page_has_every_id_of_the_catalogue_once_and_no_other() {
    let ids: Vec<_> = entries().into_iter().map(|entry| entry.id).collect();
    let catalogue: Vec<_> = CATALOGUE.lines().collect();
    let missing: Vec<_> = catalogue
        .iter()
        .filter(|id| !ids.iter().any(|it| it == *id))
        .collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    assert_eq!(ids, catalogue);
}

#[test]
fn every_test_that_is_named_exists_and_is_compiled() {
    let compiled = sources::compiled();
    for entry in entries() {
        for (file, name) in &entry.tests {
            let path = Path::new(file);
            assert!(compiled.contains(path), "{}: no suite has {file}", entry.id);
            let is_test = sources::tests(path).contains(name);
            assert!(is_test, "{}: there is no test {name} in {file}", entry.id);
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
fn a_test_with_an_id_in_its_name_is_listed_under_that_id() {
    let entries = entries();
    let mut found = 0;
    for file in sources::compiled() {
        for name in sources::tests(&file) {
            let Some(id) = id_of(&name) else { continue };
            found += 1;
            let named = (file.display().to_string(), name);
            let is_its = |entry: &Entry| entry.id == id && entry.tests.contains(&named);
            assert!(entries.iter().any(is_its), "{named:?} is not under {id}");
        }
    }
    assert!(found > 50, "the suites have {found} such tests");
}

fn entries() -> Vec<Entry> {
    let page = sources::read(Path::new("e2e/THREATS.md"));
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

/// `b05_a_sentence` is about B5.
fn id_of(name: &str) -> Option<String> {
    let (head, _) = name.split_once('_')?;
    let (letter, number) = head.split_at_checked(1)?;
    let id = format!("{}{}", letter.to_uppercase(), number.parse::<u32>().ok()?);
    CATALOGUE.lines().any(|it| it == id).then_some(id)
}
