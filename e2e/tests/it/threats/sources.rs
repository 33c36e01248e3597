//! The sources of the suites: the files that are compiled into one, and the tests in
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The roots of the test suites, from the top of the tree.
const ROOTS: [&str; 18] = [
    "broker/src/lib.rs",
    "broker/tests/it/main.rs",
    "broker/tests/panics.rs",
    "broker/contract/tests/it/main.rs",
    "consumer-demo/tests/it/main.rs",
    "mock-upstream/src/lib.rs",
    "mock-upstream/tests/contract/main.rs",
    "e2e/conformance/src/lib.rs",
    "e2e/conformance/tests/conformance/main.rs",
    "e2e/consistency/src/lib.rs",
    "e2e/consistency/tests/consistency.rs",
    "e2e/kit/tests/command_line.rs",
    "e2e/stack/src/lib.rs",
    "e2e/stack/tests/start_up.rs",
    "e2e/testkit/src/lib.rs",
    "e2e/testkit/tests/leak_log.rs",
    "e2e/tests/browser/main.rs",
    "e2e/tests/it/main.rs",
];

/// The attributes that make a function a test.
const ATTRIBUTES: [&str; 3] = ["#[test]", "#[tokio::test", "#[rocket::async_test]"];

/// Every file that is compiled into a suite, from the top of the tree.
pub(super) fn compiled() -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut found: Vec<_> = ROOTS.iter().map(PathBuf::from).collect();
    while let Some(file) = found.pop() {
        found.extend(modules(&file));
        files.insert(file);
    }
    files
}

/// The files of the modules that `file` declares. One without a file stands in
/// braces, or in a test of this page's own reader.
fn modules(file: &Path) -> Vec<PathBuf> {
    let folder = match file.file_name().and_then(|name| name.to_str()) {
        Some("main.rs" | "lib.rs") => file.parent().unwrap_or(file).to_owned(),
        _ if is_root(file) => file.parent().unwrap_or(file).to_owned(),
        _ => file.with_extension(""),
    };
    let source = read(file);
    let names = source.lines().filter_map(|line| {
        let (_, name) = line.split_once("mod ")?;
        name.strip_suffix(';')
    });
    let files = names.map(|name| folder.join(format!("{name}.rs")));
    files.filter(|file| top().join(file).is_file()).collect()
}

fn is_root(file: &Path) -> bool {
    ROOTS.iter().any(|root| Path::new(root) == file)
}

/// The names of the tests in `file`.
pub(super) fn tests(file: &Path) -> Vec<String> {
    let source = read(file);
    let mut tests = marked(&source);
    tests.extend(rows(&source));
    // A suite for several engines: its list makes tests of plain functions.
    let suite = file.parent().map(|folder| folder.with_extension("rs"));
    if let Some(suite) = suite.filter(|suite| top().join(suite).is_file()) {
        let listed = listed(&read(&suite));
        tests.extend(functions(&source).filter(|name| listed.contains(name)));
    }
    tests
}

/// The functions with a test's attribute directly above them, or above what else
/// is said about them.
fn marked(source: &str) -> Vec<String> {
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if ATTRIBUTES.iter().any(|it| line.starts_with(it)) {
            is_test = true;
        } else if let Some(name) = function(line) {
            tests.extend(is_test.then_some(name));
            is_test = false;
        } else if line.is_empty() || line.ends_with(['}', ';']) {
            is_test = false;
        }
    }
    tests
}

/// The names in a table of which each row is a test: `This is that: name => how;`.
fn rows(source: &str) -> Vec<String> {
    let names = source.lines().filter_map(|line| {
        let (case, row) = line.split_once(": ")?;
        let (name, _) = row.split_once(" => ")?;
        case.contains(" is ").then(|| name.to_owned())
    });
    match source.contains("macro_rules! rows") {
        true => names.collect(),
        false => Vec::new(),
    }
}

/// The names in the list of a suite, one a line.
fn listed(suite: &str) -> BTreeSet<String> {
    let is_name = |line: &&str| {
        let mut bytes = line.bytes();
        bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    match suite.contains("macro_rules! suite") {
        true => suite
            .lines()
            .map(str::trim)
            .filter(is_name)
            .map(str::to_owned)
            .collect(),
        false => BTreeSet::new(),
    }
}

fn functions(source: &str) -> impl Iterator<Item = String> {
    source.lines().filter_map(|line| function(line.trim()))
}

/// The name of the function that begins in this line.
fn function(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let words = ["async", "pub(super)", "pub(crate)", "pub"];
    let is_definition = before.split_whitespace().all(|it| words.contains(&it));
    let (name, _) = after.split_once(['(', '<'])?;
    is_definition.then(|| name.to_owned())
}

pub(super) fn read(file: &Path) -> String {
    let path = top().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn a_function_is_a_test_by_its_own_attribute_alone() {
    let source = "
        #[test]
        fn one() {}
        fn helper() {}
        #[tokio::test(flavor = \"multi_thread\")]
        #[expect(
            dead_code,
            reason = \"to be read\"
        )]
        async fn two() {
        }
        #[test]

        fn not_directly_below() {}
        // #[test]
        fn commented() {}
        #[ignore]
        fn ignored() {}
        proptest! {
            /// In a macro.
            #[test]
            fn three(n in 0..9) {}
        }";
    assert_eq!(marked(source), ["one", "two", "three"]);
}

#[test]
fn a_file_that_no_suite_declares_is_not_compiled() {
    let compiled = compiled();
    for file in [
        "broker/tests/it/storage/races.rs",
        "broker/src/upstream/google/id_token.rs",
        "e2e/tests/it/threats/sources.rs",
        "e2e/tests/browser/relay.rs",
    ] {
        assert!(compiled.contains(Path::new(file)), "{file}");
    }
    assert!(!compiled.contains(Path::new("broker/src/main.rs")));
    assert!(!compiled.contains(Path::new("e2e/examples/consumer.rs")));
}
