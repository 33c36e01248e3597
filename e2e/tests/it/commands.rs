//! Checks the text of the `justfile` and of `.ci/run`: compiler, crates and tools have fixed
//! versions, so that the same commit builds alike today and next year.

use std::fs;
use std::path::Path;

/// Commands of cargo that resolve the crates we depend on.
const BUILDS: [&str; 6] = ["bench", "build", "clippy", "install", "run", "test"];

#[test]
fn every_build_takes_the_crates_of_the_lock_file() {
    let mut builds = 0;
    for line in lines("justfile") {
        let words: Vec<_> = line.split_whitespace().collect();
        let calls = words.windows(2).filter(|pair| pair[0] == "cargo");
        if calls.into_iter().any(|pair| BUILDS.contains(&pair[1])) {
            builds += 1;
            assert!(words.contains(&"--locked"), "{line}");
        }
    }
    assert!(builds > 10, "{builds}");
}

#[test]
fn every_installed_tool_has_a_version() {
    for line in lines("justfile").into_iter().chain(lines(".ci/run")) {
        if line.contains("cargo install ") && !line.trim_start().starts_with('#') {
            assert!(line.contains("--version"), "{line}");
        }
        if line.contains("pip install") {
            assert!(
                line.contains("==") || line.contains("--requirement"),
                "{line}"
            );
        }
    }
    for file in [".ci/contract-tools.txt", ".ci/kubernetes-tools.txt"] {
        for line in lines(file) {
            assert!(line.starts_with('#') || line.contains("=="), "{line}");
        }
    }
}

#[test]
fn what_lets_a_change_land_checks_licences_and_sources_within_a_time() {
    let ci = lines(".ci/run");
    assert!(
        ci.last()
            .is_some_and(|it| it.starts_with("timeout ") && it.ends_with("just test"))
    );
    let recipe = |name: &str| {
        let head = format!("{name}: ");
        let found = lines("justfile")
            .into_iter()
            .find(|it| it.starts_with(&head));
        found.unwrap_or_else(|| panic!("there is no recipe {name}"))
    };
    let is_in = |part: &str, whole: &str| recipe(whole).split_whitespace().any(|it| it == part);
    assert!(is_in("check", "test"));
    for part in [
        "lint",
        "check-contract",
        "check-service",
        "check-kubernetes",
        "_cargo-deny",
    ] {
        assert!(is_in(part, "check"), "{part}");
    }
    let asks =
        |line: &String| line.contains("cargo-deny") && line.contains("check bans licenses sources");
    assert!(lines("justfile").iter().any(asks));
}

#[test]
fn the_compiler_is_a_named_one_and_the_oldest_that_is_promised() {
    let channel = value("rust-toolchain.toml", "channel");
    assert_eq!(channel.split('.').count(), 3, "{channel}");
    assert!(
        channel.starts_with(&value("Cargo.toml", "rust-version")),
        "{channel}"
    );
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
        if !recipe.starts_with('_') && recipe != "default" {
            let is_grouped = pair[0].starts_with("[group('") || pair[0] == "[no-cd]";
            assert!(is_grouped, "{recipe} is in no group");
        }
        recipes.push(recipe);
    }
    let is_first = recipes.iter().find(|it| **it != "default");
    assert_eq!(is_first, Some(&"up"), "{recipes:?}");
    for page in [
        "README.md",
        "docs/CONNECT.md",
        "docs/PROVIDERS.md",
        "docs/TESTING.md",
        "e2e/README.md",
    ] {
        let text = read(page);
        for start in ["`just ", "\njust "] {
            for rest in text.split(start).skip(1) {
                let is_end = |it: char| !it.is_ascii_lowercase() && it != '-';
                let named = rest.split(is_end).next().unwrap_or_default();
                assert!(recipes.contains(&named), "just {named} in {page}");
            }
        }
    }
}

/// The name of the recipe whose head this line is.
fn recipe_of(line: &str) -> Option<&str> {
    let head = line
        .split_once(':')
        .filter(|(_, rest)| !rest.starts_with('='))?
        .0;
    let name = head.split(' ').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && !head.contains('[')
        && name
            .chars()
            .all(|it| it.is_ascii_lowercase() || "-_".contains(it));
    is_name.then_some(name)
}

/// The value of the first key of this name in a TOML file.
fn value(file: &str, key: &str) -> String {
    let head = format!("{key} = ");
    let found = lines(file)
        .into_iter()
        .find_map(|it| it.strip_prefix(&head).map(str::to_owned));
    found.expect(key).trim_matches('"').to_owned()
}

fn lines(file: &str) -> Vec<String> {
    let text = read(file);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

fn read(file: &str) -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(top.join(file)).expect(file)
}
