//! Builds of the demo: the good one, and one for each fault.
//!
//! The faulty ones are crates of a copy of the workspace, built at once and in the
//! workspace's own target: with the same features as the tests, so that every dependency is
//! the one that is compiled already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::sync::OnceCell;

use crate::consumer::top;
use crate::fault::{self, Edit, Fault};
use crate::{Consumer, setting};

/// Where the copy is, below the top of the tree.
const COPY: &str = "target/faults";

/// A crate that has nothing but an empty test, and that test.
const EMPTY_TEST: &str = "empty";

/// What cargo tells a test of its own crate. ring's build script reads it as well: ring, and
/// all that rests on it, would be compiled again.
const OF_ONE_CRATE: [&str; 6] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// Set when every faulty demo is built.
static BUILT: OnceCell<()> = OnceCell::const_new();

/// The demo as the workspace builds it.
pub(crate) fn good() -> PathBuf {
    let demo = programs().join("consumer-demo");
    assert!(
        demo.exists(),
        "{} is missing: `just test-examiner` builds it",
        demo.display()
    );
    demo
}

/// The demo with a fault.
pub(crate) async fn with_fault(fault: &Fault) -> PathBuf {
    let build = || async {
        let built = tokio::task::spawn_blocking(build_all).await;
        built.expect("the build ends");
    };
    BUILT.get_or_init(build).await;
    programs().join(&fault.id)
}

/// The folder of the programs: tests are in `deps`, below it.
fn programs() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let programs = test.ancestors().nth(2).expect("it is in two folders");
    programs.to_owned()
}

fn build_all() {
    let copy = top().join(COPY);
    let is_faulty_demo = |fault: &Fault| fault.consumer == Consumer::Rust;
    let faults: Vec<_> = fault::all().into_iter().filter(is_faulty_demo).collect();
    copy_workspace(&copy);
    write_empty_test(&copy);
    for fault in &faults {
        write_faulty_demo(&copy, fault);
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--offline", "--quiet", "--workspace"]);
    cargo.args(["--test", EMPTY_TEST]);
    if let Some(features) = setting("SUITES") {
        cargo.args(["--features", &features]);
    }
    for fault in &faults {
        cargo.args(["--bin", &fault.id]);
    }
    for name in OF_ONE_CRATE {
        cargo.env_remove(name);
    }
    let target = programs();
    let target = target.parent().expect("programs are in the target");
    let built = cargo
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", target)
        // Clippy refuses what is wrong on purpose.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .stdin(Stdio::null())
        .status();
    assert!(
        built.expect("cargo is there").success(),
        "a fault does not compile"
    );
}

/// Writes the crate with the empty test. Where a test is built, cargo chooses the features of
/// the dependencies as for all tests.
fn write_empty_test(copy: &Path) {
    let folder = copy.join("faults").join(EMPTY_TEST);
    let manifest = format!("[package]\nname = {EMPTY_TEST:?}\nedition.workspace = true\n");
    write(&folder.join("Cargo.toml"), &manifest);
    write(
        &folder.join("tests").join(EMPTY_TEST).with_extension("rs"),
        "",
    );
    write(&folder.join("src/lib.rs"), "");
}

/// Copies every tracked file, with the faults' crates as further members.
fn copy_workspace(copy: &Path) {
    for name in tracked_files(".") {
        let (from, to) = (top().join(&name), copy.join(&name));
        if name != Path::new("Cargo.toml") {
            copy_file(&from, &to);
            continue;
        }
        let manifest = fs::read_to_string(from).expect("the manifest is there");
        let members = "members = [";
        let more = manifest.replacen(members, &format!("{members}\"faults/*\","), 1);
        write(&to, &more);
    }
}

/// The files in a folder of the tree, as paths from its top.
fn tracked_files(folder: &str) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    let listed = git.args(["ls-files", "-z", folder]).current_dir(top());
    let listed = listed.output().expect("git is there").stdout;
    let listed = String::from_utf8(listed).expect("file names are UTF-8");
    let names = listed.split_terminator('\0').map(PathBuf::from);
    // One that is deleted and not committed yet is listed.
    names.filter(|name| top().join(name).exists()).collect()
}

/// Writes the demo with `fault` as a crate with the fault's name.
fn write_faulty_demo(copy: &Path, fault: &Fault) {
    let folder = copy.join("faults").join(&fault.id);
    let manifest = fs::read_to_string(top().join("consumer-demo/Cargo.toml"));
    let manifest = manifest.expect("the demo has a manifest");
    let end = manifest.find("[dev-dependencies]");
    let manifest = &manifest[..end.expect("its tests need more than it does")];
    let named = manifest.replace("\"consumer-demo\"", &format!("{:?}", fault.id));
    write(
        &folder.join("Cargo.toml"),
        &(named + "[lib]\nname = \"consumer_demo\"\n"),
    );
    let mut files = tracked_files("consumer-demo/src");
    files.extend(tracked_files("consumer-demo/static"));
    files.extend(tracked_files("consumer-demo/templates"));
    let is_source_of =
        |edit: &Edit, name: &Path| name == Path::new("consumer-demo/src").join(&edit.file);
    for edit in &fault.edit {
        let is_there = files.iter().any(|name| is_source_of(edit, name));
        assert!(is_there, "{}: {} is missing", fault.id, edit.file.display());
    }
    for name in files {
        let from = top().join(&name);
        let inside = name.strip_prefix("consumer-demo");
        let to = folder.join(inside.expect("it is in that folder"));
        let edits: Vec<_> = fault
            .edit
            .iter()
            .filter(|it| is_source_of(it, &name))
            .collect();
        if edits.is_empty() {
            copy_file(&from, &to);
            continue;
        }
        let source = fs::read_to_string(from).expect("a source is text");
        let edit = |text: String, edit: &&Edit| edit.apply(&fault.id, &text);
        write(&to, &edits.iter().fold(source, edit));
    }
}

/// Copies a file that differs. The copy is as old, because cargo compiles what is newer than
/// its last compilation.
fn copy_file(from: &Path, to: &Path) {
    let bytes = fs::read(from).expect("the file is there");
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return;
    }
    make_folder_of(to);
    fs::write(to, bytes).expect("a file can be written");
    let modified = fs::metadata(from).and_then(|it| it.modified());
    let copy = fs::File::options().write(true).open(to);
    let copy = copy.expect("the copy is there");
    let dated = copy.set_modified(modified.expect("files have a time"));
    dated.expect("the time can be set");
}

/// Writes a text, unless it is there already.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return;
    }
    make_folder_of(path);
    fs::write(path, text).expect("a file can be written");
}

fn make_folder_of(path: &Path) {
    let folder = path.parent().expect("a file has a folder");
    fs::create_dir_all(folder).expect("a folder can be made");
}
