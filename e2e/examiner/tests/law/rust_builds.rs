//! Builds of the demo: the good one, and one for each fault.
//!
//! The faulty ones are one crate of a copy of the workspace, built in the workspace's own
//! target: with the same features as the tests, so that every dependency is the one that is
//! compiled already. It is given one fault after another and compiled incrementally, which
//! costs a third of a crate for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};

use crate::consumer::{apply, top};
use crate::fault::Fault;
use crate::setting;

/// Where the copy is, below the top of the tree.
const COPY: &str = "target/faults";

/// The crate that has one fault after another.
const FAULTY_DEMO: &str = "faulty-demo";

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
    let fault = fault.clone();
    let built = tokio::task::spawn_blocking(move || build(&fault)).await;
    built.expect("the build ends")
}

/// The folder of the programs: tests are in `deps`, below it.
fn programs() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let programs = test.ancestors().nth(2).expect("it is in two folders");
    programs.to_owned()
}

fn build(fault: &Fault) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static COPIED: Once = Once::new();
    let _alone = ONE_AT_A_TIME.lock().expect("every fault compiles");
    let copy = top().join(COPY);
    COPIED.call_once(|| {
        copy_workspace(&copy);
        write_empty_test(&copy);
    });
    write_faulty_demo(&copy, fault);
    compile(&copy, &fault.id);
    let faulty = programs().join(&fault.id);
    fs::copy(programs().join(FAULTY_DEMO), &faulty).expect("a program can be copied");
    faulty
}

fn compile(copy: &Path, fault: &str) {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--offline", "--quiet", "--workspace"]);
    cargo.args(["--test", EMPTY_TEST, "--bin", FAULTY_DEMO]);
    if let Some(features) = setting("SUITES") {
        cargo.args(["--features", &features]);
    }
    for name in OF_ONE_CRATE {
        cargo.env_remove(name);
    }
    let target = programs();
    let target = target.parent().expect("programs are in the target");
    let built = cargo
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "1")
        // Clippy refuses what is wrong on purpose.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .stdin(Stdio::null())
        .status();
    let succeeded = built.expect("cargo is there").success();
    assert!(succeeded, "{fault} does not compile");
}

/// Writes the crate with the empty test. Where a test is built, cargo chooses the features of
/// the dependencies as for all tests.
fn write_empty_test(copy: &Path) {
    let folder = copy.join("faults").join(EMPTY_TEST);
    let manifest = format!("[package]\nname = {EMPTY_TEST:?}\nedition.workspace = true\n");
    write(&folder.join("Cargo.toml"), manifest);
    write(
        &folder.join("tests").join(EMPTY_TEST).with_extension("rs"),
        "",
    );
    write(&folder.join("src/lib.rs"), "");
}

/// Copies every tracked file, with the crates of the faults as further members.
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
        write(&to, more);
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

/// Gives the faulty demo this fault, and no other.
fn write_faulty_demo(copy: &Path, fault: &Fault) {
    let folder = copy.join("faults").join(FAULTY_DEMO);
    let manifest = fs::read_to_string(top().join("consumer-demo/Cargo.toml"));
    let manifest = manifest.expect("the demo has a manifest");
    let end = manifest.find("[dev-dependencies]");
    let manifest = &manifest[..end.expect("its tests need more than it does")];
    let named = manifest.replace("\"consumer-demo\"", &format!("{FAULTY_DEMO:?}"));
    let with_library = named + "[lib]\nname = \"consumer_demo\"\n";
    write(&folder.join("Cargo.toml"), with_library);
    let mut files = tracked_files("consumer-demo/src");
    files.extend(tracked_files("consumer-demo/static"));
    files.extend(tracked_files("consumer-demo/templates"));
    for name in files {
        let inside = name.strip_prefix("consumer-demo");
        let to = folder.join(inside.expect("it is in that folder"));
        // As new as it is written: it may have had another fault.
        write(&to, fs::read(top().join(&name)).expect("the file is there"));
    }
    apply(fault, &folder.join("src"));
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

/// Writes a file, unless it is there already.
fn write(path: &Path, contents: impl AsRef<[u8]>) {
    let contents = contents.as_ref();
    if fs::read(path).is_ok_and(|old| old == contents) {
        return;
    }
    make_folder_of(path);
    fs::write(path, contents).expect("a file can be written");
}

fn make_folder_of(path: &Path) {
    let folder = path.parent().expect("a file has a folder");
    fs::create_dir_all(folder).expect("a folder can be made");
}
