//! The pages for readers of the repository: how long one may be, where their links lead, and
//! that they quote the examples, the constants and the texts of the screens as they are.

use std::path::{Path, PathBuf};

use crate::tree::{files_in, read, top};

/// What a command writes, or a test reads.
const NOT_FOR_READERS: [&str; 4] = ["FIGURES.md", "MATRIX.md", "THREATS.md", "report.md"];

/// The pages, from the top of the tree.
pub(crate) fn pages() -> Vec<PathBuf> {
    let all = files_in(&top(), &["md"]).into_iter();
    let pages = all.filter(|page| !NOT_FOR_READERS.iter().any(|name| page.ends_with(name)));
    let from_top = |page: PathBuf| page.strip_prefix(top()).map(Path::to_owned);
    let pages: Result<_, _> = pages.map(from_top).collect();
    pages.expect("files of the tree")
}

#[test]
fn no_page_takes_a_reader_longer_than_a_quarter_of_an_hour() {
    for page in pages() {
        let is_first = page.as_os_str() == "README.md";
        let limit = if is_first { 1_400 } else { 3_000 };
        let words = read(&page).split_whitespace().count();
        assert!(words <= limit, "{}: {words} words", page.display());
    }
}

/// The folders with the texts of the screens.
const SCREENS: [&str; 6] = [
    "broker/templates",
    "broker/src/http",
    "consumer-demo",
    "mock-upstream",
    "e2e/stack",
    "e2e/consumers",
];

#[test]
fn every_text_in_italics_is_on_a_screen() {
    let folders = SCREENS.iter().map(|folder| top().join(folder));
    let files = folders.flat_map(|it| files_in(&it, &["html", "rs", "toml"]));
    let screens: Vec<_> = files.map(|file| in_one_line(&read(file))).collect();
    // The pages of the providers themselves have other texts.
    let quotes_ours = |page: &PathBuf| !page.ends_with("PROVIDERS.md");
    let in_docs = |page: &PathBuf| page.starts_with("docs") || page.as_os_str() == "README.md";
    let mut quotes = 0;
    for page in pages().iter().filter(|it| in_docs(it) && quotes_ours(it)) {
        for quote in italics(&read(page)) {
            quotes += 1;
            let shown = |screen: &String| ways(&quote).iter().any(|way| screen.contains(way));
            let is_shown = screens.iter().any(shown);
            assert!(is_shown, "no screen says *{quote}*: {}", page.display());
        }
    }
    assert!(quotes > 20, "{quotes}");
}

/// The texts in italics outside code, each in one line.
fn italics(page: &str) -> Vec<String> {
    let outside = |text: &str, mark: &str| text.split(mark).step_by(2).collect::<String>();
    let prose = outside(&outside(page, "```"), "`").replace("**", "");
    let texts = prose.split('*').skip(1).step_by(2);
    texts.map(in_one_line).collect()
}

/// The text with single spaces, plain hyphens and apostrophes, and `{}` for what is filled in.
fn in_one_line(text: &str) -> String {
    let text = text.replace("&#8209;", "-").replace('’', "'");
    let pieces = text.split('{').map(|piece| match piece.split_once('}') {
        Some((hole, after)) if !hole.contains(['"', '\n']) => {
            format!("{{}}{}", after.trim_start_matches('}'))
        }
        _ => piece.to_owned(),
    });
    let text: String = pieces.collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The quote, and the quote with one of its words filled in.
fn ways(quote: &str) -> Vec<String> {
    let words: Vec<_> = quote.split(' ').collect();
    let holes = if words.len() > 1 { words.len() } else { 0 };
    let filled = (0..holes).map(|hole| {
        let mut words = words.clone();
        words[hole] = "{}";
        words.join(" ")
    });
    filled.chain([quote.to_owned()]).collect()
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
        // Braces alone are no line.
        let lines = sign_in
            .lines()
            .filter(|it| it.contains(char::is_alphanumeric));
        assert!(lines.count() <= 15, "{sign_in}");
    }
}

#[track_caller]
fn split<'a>(text: &'a str, at: &str) -> (&'a str, &'a str) {
    text.split_once(at).expect(at)
}

/// The pages name by hand how long a code lives.
#[test]
fn the_pages_name_the_lifetime_of_a_code() {
    let seconds = broker::model::grant::CODE_LIFETIME_MS / 1000;
    for (page, text) in [
        (
            "broker/contract/openapi.yaml",
            format!("A code lives {seconds} seconds."),
        ),
        (
            "broker/DECISIONS.md",
            format!("43 characters, {seconds} s;"),
        ),
        ("docs/CONNECT.md", format!("within {seconds} seconds, once")),
    ] {
        assert!(read(page).contains(&text), "{page} does not say: {text}");
    }
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading_of_it() {
    let mut links = 0;
    for page in pages() {
        let text = read(&page);
        for target in targets(&text) {
            links += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => page.clone(),
                file => page.with_file_name(file),
            };
            let exists = top().join(&file).exists();
            assert!(exists, "{target} in {}", page.display());
            let leads = heading.is_empty() || anchors(&read(&file)).any(|it| it == heading);
            assert!(leads, "{target} in {}", page.display());
        }
    }
    assert!(links > 200, "{links}");
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
