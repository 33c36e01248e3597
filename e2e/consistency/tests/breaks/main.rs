//! The checker can fail: each known break of the broker is applied to a copy of the
//! tree, and the fitting workload must end red and name what is wrong.
//!
//! A guard is removed from a copy in the same way, and the attack on it must succeed there.
//!
//! Every break compiles the broker once more, so only `just test-checker` and `just
//! test-attacks` apply them. An ordinary run checks that each still fits the sources.

mod attacks;
mod breaks;

use std::fs;
use std::path::Path;

use agent::tree::Edit;

/// Replacements that break one rule of the broker, and the run that must notice.
#[cfg_attr(
    not(feature = "breaks"),
    expect(dead_code, reason = "an ordinary run reads the edits alone")
)]
struct Break {
    name: &'static str,
    edits: &'static [Edit],
    /// The arguments of `consistency`.
    run: &'static [&'static str],
    /// Parts of the error messages that name the break; which of them comes first is
    /// decided by the race.
    errors: &'static [&'static str],
}

#[test]
fn every_break_fits_the_sources() {
    for it in breaks::ALL {
        assert_fits(it.name, it.edits);
    }
}

#[track_caller]
fn assert_fits(name: &str, edits: &[Edit]) {
    for edit in edits {
        let source = fs::read_to_string(top().join(&*edit.file)).unwrap_or_default();
        let applied = edit.apply(&source);
        assert!(applied.is_ok(), "{name}: {applied:?}");
    }
}

/// The root of the tree.
fn top() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("it is two folders above")
}

#[cfg(feature = "breaks")]
mod applied {
    use std::process::{Command, Output, Stdio};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use agent::tree::{self, Edit, FileTimes};

    use super::{breaks, top};

    /// The copy of the tree, and its target directory.
    const COPY: &str = "target/checker/tree";
    const TARGET: &str = "target/checker/target";

    const CONSISTENCY: &[&str] = &["--profile=test", "-p", "consistency"];

    /// Held by the test that uses the copy.
    static USED: Mutex<()> = Mutex::new(());

    /// The copy with some edits.
    pub(super) struct Broken {
        _alone: MutexGuard<'static, ()>,
    }

    impl Broken {
        #[track_caller]
        pub(super) fn with(edits: &[Edit]) -> Self {
            let alone = USED.lock().unwrap_or_else(PoisonError::into_inner);
            let copied = tree::copy(top(), &top().join(COPY), edits, FileTimes::New);
            assert_eq!(copied, Ok(()));
            Self { _alone: alone }
        }

        /// Runs Cargo in the copy.
        #[track_caller]
        pub(super) fn cargo(&self, command: &str, arguments: &[&str]) {
            let status = Command::new(env!("CARGO"))
                .args([command, "--locked", "--quiet"])
                .args(arguments)
                .env("CARGO_TARGET_DIR", top().join(TARGET))
                .current_dir(top().join(COPY))
                .status()
                .expect("cargo");
            assert!(
                status.success(),
                "cargo {command} {arguments:?} fails in the copy"
            );
        }

        /// Runs the copy's `consistency`.
        fn run(&self, arguments: &[&str]) -> Output {
            Command::new(top().join(TARGET).join("debug/consistency"))
                .args(arguments)
                .stdin(Stdio::null())
                .output()
                .expect("it was compiled")
        }
    }

    /// Asserts that the run on the broker with this break fails with the expected message.
    #[track_caller]
    pub(super) fn assert_found(name: &str) {
        let it = breaks::ALL.iter().find(|it| it.name == name);
        let it = it.expect("a break of the list");
        let broken = Broken::with(it.edits);
        broken.cargo("build", CONSISTENCY);
        let output = broken.run(it.run);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "nothing was found");
        let is_named = it.errors.iter().any(|it| errors.contains(it));
        assert!(is_named, "{errors}");
    }

    #[test]
    fn the_unbroken_broker_passes_every_run_that_finds_a_break() {
        let unbroken = Broken::with(&[]);
        unbroken.cargo("build", CONSISTENCY);
        for run in breaks::runs() {
            let output = unbroken.run(run);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{run:?}: {errors}");
        }
    }
}
