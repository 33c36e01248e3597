//! What no compiler checks in the tree's text: the versions of compiler, crates and tools
//! are fixed, so that the same commit builds alike today and next year; the pages name
//! recipes that exist, quote the examples exactly, and link to files that exist; and no
//! statement of SQL and no script reads another clock. (Rust's clocks are forbidden in
//! `.clippy.toml`.)

use std::fs;
use std::path::{Path, PathBuf};

/// Commands of cargo that resolve the crates we depend on.
const BUILDS: [&str; 6] = ["bench", "build", "clippy", "install", "run", "test"];

#[test]
fn every_build_takes_the_crates_of_the_lock_file_and_every_tool_has_a_version() {
    let justfile = read("justfile");
    let mut builds = 0;
    let is_said = |line: &&str| line.trim_start().starts_with("echo ");
    for line in justfile.lines().filter(|line| !is_said(line)) {
        let words: Vec<_> = line.split_whitespace().collect();
        let mut calls = words.windows(2).filter(|pair| pair[0] == "cargo");
        if calls.any(|pair| BUILDS.contains(&pair[1])) {
            builds += 1;
            assert!(words.contains(&"--locked"), "{line}");
        }
    }
    assert!(builds > 10, "{builds}");
    let ci = read(".ci/run");
    for line in justfile.lines().chain(ci.lines()) {
        if line.contains("cargo install ") && !line.trim_start().starts_with('#') {
            assert!(line.contains("--version"), "{line}");
        }
        let is_fixed = line.contains("==") || line.contains("--requirement");
        assert!(!line.contains("pip install") || is_fixed, "{line}");
    }
    for file in [".ci/contract-tools.txt", ".ci/kubernetes-tools.txt"] {
        for line in read(file).lines() {
            assert!(line.starts_with('#') || line.contains("=="), "{line}");
        }
    }
    let value = |file: &str, key: &str| {
        let text = read(file);
        let mut values = text.lines().filter_map(|it| it.strip_prefix(key));
        values.next().expect(key).replace([' ', '=', '"'], "")
    };
    let channel = value("rust-toolchain.toml", "channel");
    assert_eq!(channel.split('.').count(), 3, "{channel}");
    let oldest = value("Cargo.toml", "rust-version");
    assert!(channel.starts_with(&oldest), "{channel}");
}

#[test]
fn what_lets_a_change_land_checks_licences_and_sources_within_a_time() {
    let (ci, justfile) = (read(".ci/run"), read("justfile"));
    let last = ci.lines().last().expect("a line");
    assert!(last.starts_with("timeout ") && last.ends_with("just test"));
    let (_, recipe) = justfile.split_once("\ntest: ").expect("a recipe");
    let (recipe, _) = recipe.split_once("\n\n").expect("its end");
    for part in [
        "cargo fmt --all -- --check",
        "check-contract",
        "check-service",
        "check-kubernetes",
        "check-licences",
    ] {
        assert!(recipe.contains(part), "{part} in {recipe}");
    }
    let asks = |it: &str| it.contains("cargo-deny") && it.contains("check bans licenses sources");
    assert!(justfile.lines().any(asks));
}

#[test]
fn every_recipe_is_in_a_group_and_every_page_names_recipes_that_exist() {
    let text = read("justfile");
    let lines: Vec<_> = text.lines().collect();
    let mut recipes = Vec::new();
    for pair in lines.windows(2) {
        let Some(recipe) = recipe_of(pair[1]) else {
            continue;
        };
        let is_grouped = pair[0].starts_with("[group('") || pair[0] == "[no-cd]";
        let is_listed = !recipe.starts_with('_') && recipe != "default";
        assert!(is_grouped || !is_listed, "{recipe} is in no group");
        recipes.push(recipe);
    }
    let first = recipes.iter().find(|it| **it != "default");
    assert_eq!(first, Some(&"up"), "{recipes:?}");
    for page in [
        "README.md",
        "docs/CONNECT.md",
        "docs/PROVIDERS.md",
        "docs/TESTING.md",
        "e2e/README.md",
    ] {
        let text = read(page);
        for rest in ["`just ", "\njust "]
            .iter()
            .flat_map(|it| text.split(it).skip(1))
        {
            let is_end = |it: char| !it.is_ascii_lowercase() && it != '-';
            let named = rest.split(is_end).next().unwrap_or_default();
            assert!(recipes.contains(&named), "just {named} in {page}");
        }
    }
}

/// The name of the recipe whose head this line is.
fn recipe_of(line: &str) -> Option<&str> {
    let (head, rest) = line.split_once(':')?;
    let name = head.split(' ').next().unwrap_or_default();
    let is_of_name = |it: char| it.is_ascii_lowercase() || "-_".contains(it);
    let is_recipe = !rest.starts_with('=') && !head.contains('[');
    (is_recipe && !name.is_empty() && name.chars().all(is_of_name)).then_some(name)
}

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

/// What may be there: the clock that is handed in, the database's in the one statement
/// that compares the two, and a yield, which reads none.
const ALLOWED: [&str; 3] = [
    "clock.now()",
    "extract(epoch from clock_timestamp())",
    "thread::yield_now()",
];

#[test]
fn no_statement_and_no_page_reads_another_clock() {
    for (folder, endings, forbidden) in [
        ("broker/src/store", &["rs", "sql"][..], OF_DATABASES),
        ("broker/templates", &["html", "js", "css"], OF_BROWSERS),
        ("consumer-demo/templates", &["html", "js"], OF_BROWSERS),
        ("consumer-demo/static", &["html", "js", "css"], OF_BROWSERS),
        ("mock-upstream/templates", &["html", "js"], OF_BROWSERS),
        ("e2e/stack/templates", &["html", "js"], OF_BROWSERS),
    ] {
        let files = files_in(&top().join(folder), endings);
        assert!(!files.is_empty(), "there is nothing in {folder}");
        for file in files {
            let text = read(&file).to_lowercase();
            for line in text.lines().map(str::trim) {
                let is_comment = line.starts_with("//") || line.starts_with("--");
                let line = ALLOWED
                    .iter()
                    .fold(line.to_owned(), |line, it| line.replace(it, ""));
                let found = forbidden.iter().find(|it| line.contains(**it));
                assert!(is_comment || found.is_none(), "{}: {line}", file.display());
            }
        }
    }
}

/// The sources in `folder` with one of these endings, at any depth, in order.
pub(crate) fn files_in(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the tree");
    let mut paths: Vec<_> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name != "target" && name != "node_modules" && !name.as_encoded_bytes().starts_with(b".")
    };
    let found = paths.into_iter().filter(is_ours).flat_map(|path| {
        let is_named = |ending: &&str| path.extension().is_some_and(|it| it == *ending);
        match path.is_dir() {
            true => files_in(&path, endings),
            false if endings.iter().any(is_named) => vec![path],
            false => Vec::new(),
        }
    });
    found.collect()
}

pub(crate) fn top() -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    top.canonicalize().expect("the tree is there")
}

pub(crate) fn read(file: impl AsRef<Path>) -> String {
    let file = top().join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

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

/// The pages name by hand how long a code lives.
#[test]
fn the_pages_name_the_lifetime_of_a_code() {
    let seconds = broker::model::grant::CODE_LIFETIME_MS / 1000;
    for (page, text) in [
        (
            "broker/contract/openapi.yaml",
            format!("A code lives {seconds} seconds."),
        ),
        ("broker/README.md", format!("43 characters, {seconds} s;")),
        ("docs/CONNECT.md", format!("within {seconds} seconds, once")),
    ] {
        assert!(read(page).contains(&text), "{page} does not say: {text}");
    }
}

/// The pages for readers of the repository, in which every link leads somewhere.
const PAGES: [&str; 11] = [
    "README.md",
    "docs/ARCHITECTURE.md",
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
