//! What no compiler checks in the tree's text: the versions of compiler, crates and tools
//! are fixed, so that the same commit builds alike today and next year; the pages name
//! recipes that exist; and no statement of SQL and no script reads another clock. (Rust's
//! clocks are forbidden in `.clippy.toml`.)

use std::fs;
use std::path::{Path, PathBuf};

use crate::documents;

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
    for tools in ["contract", "kubernetes", "repository"] {
        for line in read(format!(".ci/{tools}-tools.txt")).lines() {
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
        "check-repository",
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
    for page in documents::pages() {
        let text = read(&page);
        for rest in ["`just ", "\njust "]
            .iter()
            .flat_map(|it| text.split(it).skip(1))
        {
            let is_end = |it: char| !it.is_ascii_lowercase() && it != '-';
            let named = rest.split(is_end).next().unwrap_or_default();
            assert!(
                recipes.contains(&named),
                "just {named} in {}",
                page.display()
            );
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
