//! The READMEs quote the examples exactly, and link to files that exist.

use std::path::{Path, PathBuf};

use crate::tree::{read, top};

#[test]
fn the_excerpt_in_the_readme_is_in_its_example() {
    let readme = include_str!("../../README.md");
    let example = include_str!("../../consumers/python/test_app.py");
    let (_, rest) = readme.split_once("```python\n").expect("an excerpt");
    let (excerpt, _) = rest.split_once("```").expect("its end");
    assert!(excerpt.lines().count() > 5, "{excerpt}");
    // In the example it is in a class.
    let indented = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    };
    let excerpt: String = excerpt.lines().map(indented).collect();
    assert!(example.contains(&excerpt), "{excerpt}");
}

/// The backends: language, file, what begins a comment there.
const BACKENDS: [(&str, &str, &str); 3] = [
    (
        "python",
        include_str!("../../consumers/python/minimal.py"),
        "#",
    ),
    ("js", include_str!("../../consumers/node/minimal.mjs"), "//"),
    (
        "rust",
        include_str!("../../consumers/rust/minimal.rs"),
        "//",
    ),
];

#[test]
fn the_backends_in_the_readme_are_the_fifteen_lines_of_their_files() {
    let readme = include_str!("../../../README.md");
    for (language, file, comment) in BACKENDS {
        let (_, rest) = split(file, &format!("\n{comment} The sign-in\n"));
        let (sign_in, _) = split(rest, &format!("\n{comment} What it needs\n"));
        let block = format!("```{language}\n{}\n```", sign_in.trim());
        assert!(readme.contains(&block), "{block}");
        let lines = sign_in.lines().filter(|line| !line.trim().is_empty());
        assert!(lines.count() <= 15, "{sign_in}");
    }
}

#[track_caller]
fn split<'a>(text: &'a str, at: &str) -> (&'a str, &'a str) {
    text.split_once(at).expect(at)
}

/// The pages for readers of the repository, in which every link leads somewhere.
const PAGES: [&str; 10] = [
    "README.md",
    "docs/CONNECT.md",
    "docs/GLOSSARY.md",
    "docs/PROTECTION.md",
    "docs/PROVIDERS.md",
    "docs/TESTING.md",
    "broker/README.md",
    "consumer-demo/README.md",
    "e2e/README.md",
    "e2e/consumers/README.md",
];

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading_of_it() {
    let mut links = 0;
    for page in PAGES {
        let text = read(Path::new(page));
        for target in targets(&text) {
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => PathBuf::from(page),
                file => Path::new(page).with_file_name(file),
            };
            assert!(top().join(&file).exists(), "{target} in {page}");
            assert!(
                heading.is_empty() || anchors(&read(&file)).any(|it| it == heading),
                "{target} in {page}"
            );
        }
    }
    assert!(links > 80, "{links}");
}

/// The targets of the links and pictures to files of the repository.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let ends = [("](", ')'), ("src=\"", '"')];
    let all = ends.into_iter().flat_map(move |(start, end)| {
        let rests = text.split(start).skip(1);
        rests.filter_map(move |rest| rest.split_once(end).map(|(target, _)| target))
    });
    all.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter_map(|it| match it {
            ' ' => Some('-'),
            it if it.is_alphanumeric() || it == '-' || it == '_' => Some(it),
            _ => None,
        });
        kept.collect()
    })
}
