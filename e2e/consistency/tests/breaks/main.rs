//! The checker can fail: each known break of the broker is applied to a copy of the
//! tree, and the fitting workload must end red and name what is wrong.
//!
//! Every break compiles the broker once more, so this suite is not part of a plain
//! `cargo test`: `just test-checker` runs it.

mod breaks;
mod tree;

use std::process::Output;

use tree::Tree;

/// Replacements that break one rule of the broker, and the run that must notice.
struct Break {
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

impl Break {
    /// Asserts that the run on the broken broker fails with the expected message.
    #[track_caller]
    fn assert_found(&self) {
        let output = Tree::with(self.edits).run(self.run);
        let errors = errors(&output);
        assert!(!output.status.success(), "nothing was found");
        let is_named = self.errors.iter().any(|it| errors.contains(it));
        assert!(is_named, "{errors}");
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_unbroken_broker_passes_every_run_that_finds_a_break() {
    let tree = Tree::with(&[]);
    for run in breaks::runs() {
        let output = tree.run(run);
        assert!(output.status.success(), "{run:?}: {}", errors(&output));
    }
}
