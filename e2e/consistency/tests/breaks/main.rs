//! The checker can fail: each known break of the broker is applied to a copy of the
//! tree, and the fitting workload must end red and name what is wrong.
//!
//! Every break compiles the broker once more, so only `just test-checker` applies
//! them. An ordinary run checks that each still fits the sources.

mod breaks;
#[cfg(feature = "breaks")]
mod tree;

use std::fs;
use std::path::Path;

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

/// One replacement in the sources.
struct Edit {
    /// The path of the file, from the root of the tree.
    file: &'static str,
    /// The text that is replaced; it occurs exactly once.
    old: &'static str,
    new: &'static str,
}

impl Edit {
    /// The number of places that the edit would change.
    fn occurrences(&self) -> usize {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(self.file);
        let source = fs::read_to_string(file).unwrap_or_default();
        source.matches(self.old).count()
    }
}

#[test]
fn every_break_fits_the_sources() {
    for it in breaks::ALL {
        for edit in it.edits {
            let at = format!("{}: {} in {}", it.name, edit.old, edit.file);
            assert_eq!(edit.occurrences(), 1, "{at}");
            assert_ne!(edit.old, edit.new, "{at}");
        }
    }
}

/// Asserts that the run on the broker with this break fails with the expected message.
#[cfg(feature = "breaks")]
#[track_caller]
fn assert_found(name: &str) {
    let it = breaks::ALL.iter().find(|it| it.name == name);
    let it = it.expect("a break of the list");
    let output = tree::Tree::with(it.edits).run(it.run);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "nothing was found");
    let is_named = it.errors.iter().any(|it| errors.contains(it));
    assert!(is_named, "{errors}");
}

#[cfg(feature = "breaks")]
#[test]
fn the_unbroken_broker_passes_every_run_that_finds_a_break() {
    let tree = tree::Tree::with(&[]);
    for run in breaks::runs() {
        let output = tree.run(run);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{run:?}: {errors}");
    }
}
