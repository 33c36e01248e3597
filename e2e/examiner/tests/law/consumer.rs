//! The good consumers, and copies of them, as they are or with a fault.
//!
//! The faulty builds of the demo are one crate of a copy of the workspace, built in the
//! workspace's own target: with the same features as the tests, so that every dependency is the
//! one that is compiled already. It is given one fault after another and compiled incrementally,
//! which costs a third of a crate for each.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};

use agent::tree::{self, Edit, FileTimes};
use examiner::share::Share;
use serde::Deserialize;
use tempfile::TempDir;
use testkit::server::free_port;
use url::Url;

use crate::fault::{Fault, top};
use crate::setting;

/// A good consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Consumer {
    Python,
    Node,
    Rust,
    Go,
    Java,
    Php,
    Ruby,
}

/// The means by which a consumer is built and started. In a command, `{top}` is the tree, and
/// `{folder}` the copy, in which it is built.
struct Recipe {
    /// The folder of its sources.
    sources: &'static str,
    /// A command that succeeds where its language is installed, and the packages of Debian that
    /// it needs; none where `just` installs them.
    needs: Option<(&'static str, &'static str)>,
    build: &'static str,
    run: &'static str,
}

/// The library of a consumer in Java.
macro_rules! sqlite_jdbc {
    () => {
        "/usr/share/java/sqlite-jdbc.jar"
    };
}

impl Consumer {
    fn recipe(self) -> Recipe {
        let (sources, needs, build, run) = match self {
            Self::Python => (
                "e2e/consumers/python",
                None,
                "",
                "{top}/target/consumers/python/bin/python {folder}/app.py",
            ),
            Self::Node => (
                "e2e/consumers/node",
                None,
                "ln -s {sources}/node_modules .",
                "node {folder}/app.mjs",
            ),
            Self::Rust => ("consumer-demo", None, "", ""),
            Self::Go => (
                "e2e/consumers/go",
                Some((
                    "go version && ls /usr/share/gocode/src/github.com/mattn/go-sqlite3",
                    "golang-go golang-github-mattn-go-sqlite3-dev",
                )),
                "go build -o app .",
                "{folder}/app",
            ),
            Self::Java => (
                "e2e/consumers/java",
                Some((
                    concat!("javac -version && ls ", sqlite_jdbc!()),
                    "openjdk-17-jdk-headless libxerial-sqlite-jdbc-java",
                )),
                concat!("javac -cp .:", sqlite_jdbc!(), " App.java"),
                concat!(
                    "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder} -cp {folder}:",
                    sqlite_jdbc!(),
                    " App"
                ),
            ),
            Self::Php => (
                "e2e/consumers/php",
                Some((
                    "php -r 'exit(extension_loaded(\"pdo_sqlite\") && extension_loaded(\"curl\") ? 0 : 1);'",
                    "php-cli php-curl php-sqlite3",
                )),
                "",
                "php {folder}/app.php",
            ),
            Self::Ruby => (
                "e2e/consumers/ruby",
                Some((
                    "ruby -r sqlite3 -r webrick -e ''",
                    "ruby ruby-sqlite3 ruby-webrick",
                )),
                "",
                "ruby {folder}/app.rb",
            ),
        };
        Recipe {
            sources,
            needs,
            build,
            run,
        }
    }

    /// The folder with its sources.
    fn sources(self) -> PathBuf {
        top().join(self.recipe().sources)
    }

    /// Whether its language is installed; if not, a line says so. With `ALL_LANGUAGES` in the
    /// environment every one must be.
    pub(crate) fn is_installed(self) -> bool {
        let Some((probe, packages)) = self.recipe().needs else {
            return true;
        };
        let probed = shell(probe, &top()).output();
        let is_installed = probed.is_ok_and(|it| it.status.success());
        if !is_installed {
            assert!(
                setting("ALL_LANGUAGES").is_none(),
                "{self:?} needs {packages}"
            );
            // Not by `eprintln!`, which a test that passes keeps to itself.
            let line = format!("The consumer in {self:?} is left out: it needs {packages}.\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        is_installed
    }

    /// Whether it is examined in Chromium, too: always, if `just` installs what it needs or if
    /// `ALL_LANGUAGES` is in the environment, else at every fourth commit.
    pub(crate) fn has_turn(self, commits: usize) -> bool {
        let languages = [Self::Go, Self::Java, Self::Php, Self::Ruby];
        let place = languages.iter().position(|it| *it == self);
        place.is_none_or(|place| commits % languages.len() == place)
            || setting("ALL_LANGUAGES").is_some()
    }

    /// The least number of its faults.
    pub(crate) fn least_faults(self) -> usize {
        self.recipe().needs.map_or(15, |_| 8)
    }
}

/// A command of a recipe.
fn shell(script: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .current_dir(folder)
        .stdin(Stdio::null());
    shell
}

/// The way in which the instances of every consumer share their sessions.
pub(crate) fn share() -> Share {
    let database = ["SESSIONS_DB", "{folder}/sessions.sqlite"].map(str::to_owned);
    Share {
        env: [database.into()].into(),
        ..Share::default()
    }
}

/// A consumer that can be started, in a folder of its own.
pub(crate) struct Copy {
    name: String,
    command: Vec<String>,
    _folder: TempDir,
}

impl Copy {
    /// The consumer as it is.
    pub(crate) fn good(consumer: Consumer) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let command = match consumer {
            Consumer::Rust => vec![program(&good_demo())],
            script => interpreted(script, &[], folder.path()),
        };
        Self::new(format!("{consumer:?}"), command, folder)
    }

    /// The consumer with a fault.
    pub(crate) async fn with_fault(fault: &Fault) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let command = match fault.consumer {
            Consumer::Rust => vec![program(&faulty_demo(fault).await)],
            script => interpreted(script, &fault.edit, folder.path()),
        };
        Self::new(fault.id.clone(), command, folder)
    }

    fn new(name: String, mut command: Vec<String>, folder: TempDir) -> Self {
        // A slow broker is waited for to the end of this time.
        command.splice(0..0, ["env".to_owned(), "CALL_SECONDS=8".to_owned()]);
        Self {
            name,
            command,
            _folder: folder,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn command(&self) -> Vec<String> {
        self.command.clone()
    }

    /// A start page on a port that is free.
    pub(crate) fn start() -> Url {
        let port = free_port();
        let start = format!("http://localhost:{port}/");
        start.parse().expect("it is an address")
    }
}

/// Makes `to` equal to a folder of the tree, apart from `edits`.
fn copy_tree(from: &Path, to: &Path, edits: &[Edit], times: FileTimes) {
    tree::copy(from, to, edits, times)
        .unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

/// The command of a consumer with these changes, copied to `folder` and built there.
fn interpreted(consumer: Consumer, edits: &[Edit], folder: &Path) -> Vec<String> {
    let (sources, recipe) = (consumer.sources(), consumer.recipe());
    copy_tree(&sources, folder, edits, FileTimes::New);
    let places = [
        ("{top}", top()),
        ("{sources}", sources),
        ("{folder}", folder.to_owned()),
    ];
    let filled = |command: &str| {
        let fill =
            |text: String, (name, path): &(&str, PathBuf)| text.replace(name, &program(path));
        places.iter().fold(command.to_owned(), fill)
    };
    let built = shell(&filled(recipe.build), folder).status();
    assert!(
        built.expect("there is a shell").success(),
        "{consumer:?} is not built"
    );
    // The default of a database is a temporary file.
    let run = filled(recipe.run);
    let words = run.split(' ').map(str::to_owned);
    std::iter::once(filled("TMPDIR={folder}"))
        .chain(words)
        .collect()
}

fn program(path: &Path) -> String {
    path.to_str().expect("the path is text").to_owned()
}

/// The path of the copy, below the top of the tree.
const COPY: &str = "target/faults";

/// The crate that has one fault after another.
const FAULTY_DEMO: &str = "faulty-demo";

/// A crate that has nothing but an empty test, and that test.
const EMPTY_TEST: &str = "empty";

/// The variables in which cargo describes its own crate to a test. The build script of ring reads
/// them as well: ring, and all that rests on it, would be compiled again.
const OF_ONE_CRATE: [&str; 6] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The demo as the workspace builds it.
fn good_demo() -> PathBuf {
    let demo = programs().join("consumer-demo");
    assert!(
        demo.exists(),
        "{} is missing: `just test-examiner` builds it",
        demo.display()
    );
    demo
}

/// The demo with a fault.
async fn faulty_demo(fault: &Fault) -> PathBuf {
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
        let more = Edit::of("Cargo.toml", "members = [", "members = [\"faults/*\",");
        // As old as the original, which is compiled already.
        copy_tree(&top(), &copy, &[more], FileTimes::Original);
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

/// Gives the faulty demo this fault, and no other.
fn write_faulty_demo(copy: &Path, fault: &Fault) {
    let folder = copy.join("faults").join(FAULTY_DEMO);
    let demo = Consumer::Rust.sources();
    let manifest = fs::read_to_string(demo.join("Cargo.toml")).expect("the demo has a manifest");
    let end = manifest.find("[dev-dependencies]");
    let manifest = &manifest[..end.expect("its tests need more than it does")];
    let named = manifest.replace("\"consumer-demo\"", &format!("{FAULTY_DEMO:?}"));
    let with_library = named + "[lib]\nname = \"consumer_demo\"\n";
    write(&folder.join("Cargo.toml"), with_library);
    for part in ["src", "static", "templates"] {
        let edits: &[Edit] = if part == "src" { &fault.edit } else { &[] };
        // As new as it is copied: it may have had another fault.
        copy_tree(&demo.join(part), &folder.join(part), edits, FileTimes::New);
    }
}

/// Writes a file, unless it is there already.
fn write(path: &Path, contents: impl AsRef<[u8]>) {
    let contents = contents.as_ref();
    if fs::read(path).is_ok_and(|old| old == contents) {
        return;
    }
    let folder = path.parent().expect("a file has a folder");
    fs::create_dir_all(folder).expect("a folder can be made");
    fs::write(path, contents).expect("a file can be written");
}
